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
	for _, row := range []struct{ text, want string }{
		{"name: x\nsubjects: [lock/parent]" + churn, "client.kill: stops or kills a process, but lock/parent runs inside zkbench; run it in processes of its own: --set apart=true"},
		{"name: x\nsubjects: [lock/parent]\napart: true" + churn, ""},
		{"name: x\nsubjects: [" + `{name: lock/mine, exec: "` + os.Args[0] + `"}` + "]" + churn, ""},
		{"name: x\nsubjects: [lock/parent]\nclients: [3]\nsession_timeout: 1s\nphases: [{name: p, kind: failover, cause: pause, rounds: 1}]", "client.pause: stops or kills"},
		{"name: x\nsubjects: [lock/parent]\nclients: [3]\nsession_timeout: 1s\nphases: [{name: e, kind: episode, cells: [\"holder hold #1/client.pause\"]}]", "client.pause: stops or kills"},
	} {
		_, err := spec.Load("x", []byte(row.text))
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s\n%v, want %q", row.text, err, row.want)
		}
	}
}
