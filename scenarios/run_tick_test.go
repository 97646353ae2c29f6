package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/scenarios/spec"
)

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
		err := (Config{Scenario: shipped(t, "herd", c.set), Ensemble: ensembles.Options{Tick: c.tick}}).Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with --tick %v: %v, want %q", c.set, c.tick, err, c.want)
		}
	}
}
