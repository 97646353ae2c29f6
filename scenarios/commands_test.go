package scenarios

import (
	"reflect"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
)

// theirs is an external ensemble of one member with commands.
func theirs(c ensembles.Commands) ensembles.Options {
	return ensembles.Options{Servers: []string{"zk1:2181"}, Terms: ensembles.ExternalConfig{Commands: []ensembles.Commands{c}, File: "theirs.yaml"}}
}

func scenarioWith(t *testing.T, fault string) *Scenario {
	t.Helper()
	s, err := Load("test", []byte(`{name: test, subjects: [lock/predecessor], clients: [2], session_timeout: 4s,
		phases: [{name: churn, kind: churn, duration: 3s, faults: [{at: 1s, fault: `+fault+`}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConfig_externalNeedsTheCommandsOfItsFaults(t *testing.T) {
	a := []string{"true"}
	for name, test := range map[string]struct {
		fault    string
		commands ensembles.Commands
		want     string
	}{
		"a crash by its command":                      {"member.kill", ensembles.Commands{Kill: a, Start: a}, ""},
		"a crash by the command to stop":              {"member.kill", ensembles.Commands{Stop: a, Start: a}, ""},
		"a crash without a command":                   {"member.kill", ensembles.Commands{Pause: a, Resume: a}, "member.kill needs kill and start of every member, and zk1:2181 in theirs.yaml has none"},
		"a cut from all":                              {"partition.isolate", ensembles.Commands{Isolate: a, Heal: a}, ""},
		"a cut from peers that has no place for them": {"partition.peers", ensembles.Commands{Isolate: a, Heal: a}, "needs {peers}"},
		"a cut from peers":                            {"partition.peers", ensembles.Commands{Isolate: []string{"cut", "{peers}"}, Heal: a}, ""},
		"packets that are lost":                       {"link.loss", ensembles.Commands{Isolate: a, Heal: a}, "is not available by commands"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Config{Scenario: scenarioWith(t, test.fault), Ensemble: theirs(test.commands)}.Validate()
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestConfig_Commands_areThoseThatMayBeExecuted(t *testing.T) {
	c := Config{Scenario: scenarioWith(t, "member.kill"), Ensemble: theirs(ensembles.Commands{
		Stop: []string{"ssh", "zk1", "stop it"}, Start: []string{"ssh", "zk1", "start"}, Pause: []string{"true"}, Resume: []string{"true"}, Log: []string{"tar"},
	})}
	want := []string{
		"phase churn, member.kill: zk1 kill: ssh zk1 'stop it'",
		"phase churn, member.kill: zk1 start: ssh zk1 start",
		"after each trial: zk1 log: tar",
	}
	if got := c.Commands(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
