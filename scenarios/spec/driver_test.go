package spec_test

import (
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestValidate_faultsOfProcesses(t *testing.T) {
	const churn = `
clients: [3]
session_timeout: 1s
phases: [{name: churn, kind: churn, duration: 1s, faults: [{at: 0s, fault: client.kill}]}]
`
	restarted := func(as string) string {
		return "name: x\nsubjects: [" + `{name: lock/mine, exec: "` + os.Args[0] + `"}` + "]\nclients: [3]\nsession_timeout: 1s\n" +
			"phases: [{name: churn, kind: churn, duration: 1s, faults: [{at: 0s, fault: client.restart, params: {as: " + as + "}}]}]"
	}
	for _, row := range []struct{ text, want string }{
		{"name: x\nsubjects: [lock/parent]" + churn, "client.kill: stops or kills a process, but lock/parent runs inside zkbench; run it in processes of its own: --set apart=true"},
		{"name: x\nsubjects: [lock/parent]\napart: true" + churn, ""},
		{"name: x\nsubjects: [" + `{name: lock/mine, exec: "` + os.Args[0] + `"}` + "]" + churn, ""},
		{restarted("lock/predecessor"), "lock/predecessor runs inside zkbench and has no process that could replace a process of lock/mine: name a driver"},
		{restarted("queue/kazoo"), "queue/kazoo cannot replace lock/mine: the first is a queue, the second a lock"},
		{restarted("lock/curater"), `unknown subject "lock/curater"; did you mean "lock/curator"?`},
		{restarted("lock/kazoo"), ""},
		{"name: x\nsubjects: [lock/parent]\nclients: [3]\nsession_timeout: 1s\nphases: [{name: p, kind: failover, cause: pause, rounds: 1}]", "client.pause: stops or kills"},
		{"name: x\nsubjects: [lock/parent]\nclients: [3]\nsession_timeout: 1s\nphases: [{name: e, kind: episode, cells: [\"holder hold #1/client.pause\"]}]", "client.pause: stops or kills"},
	} {
		_, err := spec.Load("x", []byte(row.text))
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s\n%v, want %q", row.text, err, row.want)
		}
	}
}
