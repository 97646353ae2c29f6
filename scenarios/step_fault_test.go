package scenarios

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestFault_namesAClientThatIsThere(t *testing.T) {
	for _, row := range []struct{ name, fault, want string }{
		{"the last client", `{at: 1s, fault: session.close, target: "2"}`, ""},
		{"one beyond the last", `{at: 1s, fault: session.close, target: "3"}`, "target: there is no client 3: the smallest trial has 3 clients, numbered 0 to 2"},
		{"one beyond the last, as it is also written", `{at: 1s, fault: session.close, target: client 7}`, "target: there is no client 7"},
		{"the member of one beyond the last", `{at: 1s, fault: member.kill, target: member of 7}`, "target: there is no client 7"},
		{"a client by its part", `{at: 1s, fault: session.close, target: waiter}`, ""},
		{"an event of the last client", `{on: client 2 holds, fault: session.close}`, ""},
		{"an event of one beyond the last", `{on: client 3 holds, fault: session.close}`, "on: there is no client 3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := spec.Load("x", []byte(churnOf("[5, 3]", row.fault)))
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}

func TestConfig_namesAMemberThatIsThere(t *testing.T) {
	theirs := ensembles.Options{Kind: ensembles.External, Servers: []string{"a:1", "b:1"}, External: ensembles.ExternalConfig{
		Commands: []ensembles.Commands{{Name: "left", Stop: []string{"true"}, Start: []string{"true"}}, {Stop: []string{"true"}, Start: []string{"true"}}}}}
	for _, row := range []struct {
		name, target string
		on           ensembles.Options
		want         string
	}{
		{"one of three", "zk3", ensembles.Options{}, ""},
		{"beyond the last of three", "zk9", ensembles.Options{}, `phases.0.faults.0.target: "zk9" is not a member; the members are zk1, zk2, zk3`},
		{"an observer", "zk4", ensembles.Options{Members: 3, Observers: 1}, ""},
		{"a part", "leader", ensembles.Options{}, ""},
		{"an address, known when it is up", "127.0.0.1:2181", ensembles.Options{}, ""},
		{"a name of theirs", "left", theirs, ""},
		{"an address of theirs", "b:1", theirs, ""},
		{"none of theirs", "zk1", theirs, "the members are left, zk2"},
		{"another address than theirs", "c:1", theirs, `"c:1" is not a member`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := spec.Load("x", []byte(churnOf("[3]", `{at: 1s, fault: member.kill, target: "`+row.target+`"}`)))
			if err != nil {
				t.Fatal(err)
			}
			err = Config{Scenario: s, Ensemble: row.on}.Validate()
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}

// churnOf is a scenario with one fault.
func churnOf(clients, fault string) string {
	return "{name: x, subjects: [lock/parent], clients: " + clients + ", session_timeout: 4s, phases: [{name: p, kind: churn, duration: 10s, hold: 1ms, faults: [" + fault + "]}]}"
}

func TestProblems_thatFollowFromOthersAreNotSaid(t *testing.T) {
	for _, row := range []struct{ name, text, want, not string }{
		{"a time before the phase", churnOf("[3]", "{at: -1s, fault: session.close}"), "-1s is not within the phase", "jitter"},
		{"fewer clients than none", churnOf("[-5]", "{at: 1s, fault: session.close}"), "-5 is not between 1 and", "contenders"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := spec.Load("x", []byte(row.text))
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), row.not) {
				t.Errorf("got %v, want %q in it and not %q", err, row.want, row.not)
			}
		})
	}
}
