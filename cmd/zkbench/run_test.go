package main

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// A run that broke its threshold says so by its exit code, also where nothing can be drawn.
func TestConclude_aFailureCountsMoreThanADrawing(t *testing.T) {
	for _, row := range []struct {
		about     string
		threshold string
		want      int
	}{
		{"a threshold failed", "throughput > 99999", exitBroken},
		{"all is well but the drawing", "verdicts == pass", exitUnknown},
	} {
		t.Run(row.about, func(t *testing.T) {
			dir := savedRun(t)
			if row.threshold != "verdicts == pass" {
				inHistory("verdicts == pass", row.threshold)(t, dir)
			}
			result, err := report.Conclude(dir, report.Run{ID: "run"})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			err = errors.Join(errors.New("nothing can be drawn"), new(runFlags).conclude(cmd, dir, &spec.Scenario{}, result))
			if got := codeOf(err); got != row.want {
				t.Errorf("exit code %d, want %d: %v\n%s", got, row.want, err, &out)
			}
		})
	}
}

// parsed is what zkbench run makes of the flags.
func parsed(t *testing.T, args ...string) *runFlags {
	t.Helper()
	var f runFlags
	cmd := &cobra.Command{}
	f.register(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return &f
}

// The command in a report, given to a shell, runs on what the run was made on.
func TestCommand_repeatsTheRun(t *testing.T) {
	for _, row := range []struct {
		about string
		flags string
		tick  time.Duration // of the scenario
		on    report.Ensemble
		want  string
	}{
		{"by default", "--seed 7", 0, report.Ensemble{Kind: "container", Members: 3, Tick: 2 * time.Second},
			"zkbench run out/scenario.yaml --seed 7 --ensemble container --members 3"},
		{"the scenario has a tick of its own", "--seed 7", time.Second, report.Ensemble{Kind: "process", Members: 3, Tick: time.Second},
			"zkbench run out/scenario.yaml --seed 7 --ensemble process --members 3"},
		{"a kept ensemble has another tick", "--seed 7", 0, report.Ensemble{Kind: "process", Members: 5, Tick: time.Second},
			"zkbench run out/scenario.yaml --seed 7 --ensemble process --members 5 --tick 1s"},
		{"somebody else's ensemble", "--seed 7 --servers zk1:2181,zk2:2181 --chroot /mine", 0, report.Ensemble{Kind: "external", Members: 2},
			"zkbench run out/scenario.yaml --seed 7 --ensemble external --servers zk1:2181,zk2:2181 --chroot /mine"},
		{"with observers", "--seed 7", 0, report.Ensemble{Kind: "process", Members: 5, Observers: []string{"zk6", "zk7"}, Tick: 2 * time.Second},
			"zkbench run out/scenario.yaml --seed 7 --ensemble process --members 5 --observers 2"},
		{"an image", "--seed 7 --image zookeeper:3.9.4", 0, report.Ensemble{Kind: "container", Members: 3},
			"zkbench run out/scenario.yaml --seed 7 --ensemble container --members 3 --image zookeeper:3.9.4"},
		{"a distribution", "--seed 7 --zookeeper-home /opt/zk", 0, report.Ensemble{Kind: "process", Members: 3},
			"zkbench run out/scenario.yaml --seed 7 --ensemble process --members 3 --zookeeper-home /opt/zk"},
		{"two versions", "--seed 7 --image old=zookeeper:3.8,zookeeper:3.9", 0, report.Ensemble{Kind: "container", Members: 3},
			"zkbench run out/scenario.yaml --seed 7 --ensemble container --members 3 --image old=zookeeper:3.8,zookeeper:3.9"},
		{"a replay", "--replay /before", 0, report.Ensemble{Kind: "process", Members: 3},
			"zkbench run --replay /before --ensemble process --members 3"},
		{"a replay of a part", "--replay /before --set hold=5ms", 0, report.Ensemble{Kind: "process", Members: 3},
			"zkbench run --replay /before --set hold=5ms --ensemble process --members 3"},
		{"no ensemble came up", "--seed 7 --members 5 --observers 1", 0, report.Ensemble{},
			"zkbench run out/scenario.yaml --seed 7 --ensemble auto --members 5 --observers 1"},
	} {
		t.Run(row.about, func(t *testing.T) {
			f := parsed(t, strings.Fields(row.flags)...)
			got := f.command("out", &spec.Scenario{Tick: row.tick}, report.Run{Seed: f.seed, Ensemble: row.on})
			if got != row.want {
				t.Fatalf("%s\nwant %s", got, row.want)
			}
			again := parsed(t, strings.Fields(got)[2:]...)
			if again.command("out", &spec.Scenario{Tick: row.tick}, report.Run{Seed: again.seed, Ensemble: row.on}) != got || !reflect.DeepEqual(again.ensemble.Servers, f.ensemble.Servers) {
				t.Errorf("what it says, given again, says something else")
			}
			if _, err := again.options(); err != nil {
				t.Errorf("it is refused: %v", err)
			}
		})
	}
}

// An ensemble of somebody else's has as many members as servers are named.
func TestOptions_membersOfOthers(t *testing.T) {
	for flags, want := range map[string]int{"": 3, "--members 5": 5, "--servers zk1:2181": 0, "--servers zk1:2181,zk2:2181 --members 2": 2} {
		if o, err := parsed(t, strings.Fields(flags)...).options(); err != nil || o.Members != want {
			t.Errorf("%q: %d members, %v; want %d", flags, o.Members, err, want)
		}
	}
}
