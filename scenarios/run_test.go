package scenarios

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestConfig_lockKeepsFaultsOnMembersFromOtherRuns(t *testing.T) {
	t.Setenv("ZKBENCH_STATE", t.TempDir())
	kept := &ensembles.Ensemble{ID: "kept", Kind: ensembles.Process}
	lock := func(scenario string) (func() error, error) {
		return Config{Scenario: shipped(t, scenario)}.lock(kept)
	}
	unlock, err := lock("churn")
	must(t, err)
	if _, err := lock("partition"); !errors.Is(err, state.ErrLocked) || !strings.Contains(err.Error(), "--ensemble process") {
		t.Errorf("partitions beside a churn: %v, want it refused, and said what to do", err)
	}
	beside, err := lock("zoo")
	must(t, err)
	must(t, beside())
	must(t, unlock())
	unlock, err = lock("partition")
	must(t, err)
	defer func() { must(t, unlock()) }()
	if _, err := lock("churn"); !errors.Is(err, state.ErrLocked) {
		t.Errorf("a churn beside partitions: %v, want it refused", err)
	}
}

func TestRandomID_tellsRunsOfTheSameSecondApart(t *testing.T) {
	if a, b := randomID(), randomID(); a == b || len(a) < 8 {
		t.Errorf("%s and %s", a, b)
	}
}

func TestValidate_timeoutsThatMembersDoNotGrant(t *testing.T) {
	for _, name := range spec.Builtin() {
		if name == "upgrade" { // which wants two versions named
			continue
		}
		if err := (Config{Scenario: shipped(t, name), Ensemble: ensembles.Options{Tick: 2 * time.Second}}).Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		set  string
		tick time.Duration
		want string
	}{
		{"session_timeout=1s", 2 * time.Second, "grant 4s to 40s"},
		{"session_timeout=60s", 2 * time.Second, "grant 4s to 40s"},
		{"session_timeout=1s", 500 * time.Millisecond, ""},
		{"tick=200ms", 2 * time.Second, "grant 400ms to 4s"},
	} {
		refused(t, Config{Scenario: shipped(t, "herd", c.set), Ensemble: ensembles.Options{Tick: c.tick}}.Validate(), c.want)
	}
}
