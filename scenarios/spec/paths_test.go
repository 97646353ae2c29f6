package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestPaths_areRefusedWhereTheyMakeNoSense(t *testing.T) {
	const churn = "{name: p, kind: churn, duration: 1s, hold: 1ms}"
	for _, row := range []struct{ name, subject, clients, paths, phases, want string }{
		{"two clients on each", "lock/parent", "10, 50", "5", churn, ""},
		{"one path", "barrier/parent", "1", "1", churn, ""},
		{"too few clients", "lock/parent", "50", "100", churn, "paths: 100 paths need at least 200 clients, 2 on each, but there are 50: set paths to at most 25, or clients to at least 200"},
		{"too few in the smallest trial", "lock/parent", "300, 199", "100", churn, "but there are 199: set paths to at most 99"},
		{"too few contenders", "lock/parent", "50", "5", "{name: p, kind: churn, duration: 1s, hold: 1ms, contenders: 9}", "5 paths need at least 10 contenders, 2 on each, but there are 9"},
		{"enough contenders", "lock/parent", "50", "5", "{name: p, kind: churn, duration: 1s, hold: 1ms, contenders: 10}", ""},
		{"too few producers", "queue/parent", "50", "5", "{name: p, kind: stream, duration: 1s, hold: 1ms, rate: 5, producers: 9}", "5 paths need at least 10 producers"},
		{"fewer than none", "lock/parent", "4", "-1", churn, "paths: -1 is not between"},
		{"no number", "lock/parent", "4", "many", churn, "paths: "},
		{"more than there may be clients", "lock/parent", "10000", "5001", churn, "paths: 5001 is not between 0 and 5000"},
		{"a drain", "lock/parent", "4", "2", "{name: p, kind: drain, rounds: 1, hold: 1ms}", "phases.0.kind: phases of kind drain have one contested node: set paths to 1, or use phases of kind churn or "},
		{"an episode", "lock/parent", "4", "2", "{name: p, kind: episode}", "phases of kind episode have one contested node"},
		{"a barrier", "barrier/parent", "4", "2", churn, "barrier/parent is a barrier, which all clients pass together: set paths to 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			refused(t, row.want, fmt.Sprintf("{name: x, subjects: [%s], clients: [%s], paths: %s, session_timeout: 4s, phases: [%s]}",
				row.subject, row.clients, row.paths, row.phases))
		})
	}
}

// Paths are a parameter of the trial, and are set and varied like any other field.
func TestPaths_areAParameter(t *testing.T) {
	text := []byte("{name: x, subjects: [lock/parent], clients: [20], session_timeout: 4s, matrix: {paths: [1, 10]}, phases: [{name: p, kind: churn, duration: 1s, hold: 1ms}]}")
	for _, row := range []struct {
		set  []string
		want string
	}{
		{nil, "x-lock-parent-20-paths-1 1 1; x-lock-parent-20-paths-10 10 10"},
		{[]string{"paths=5"}, "x-lock-parent-20 5 5"},
	} {
		s, err := spec.Load("x", text, row.set...)
		if err != nil {
			t.Fatal(err)
		}
		cells, err := s.Cells()
		var got []string
		for _, c := range cells {
			got = append(got, fmt.Sprint(c.TrialName(), " ", c.Params()["paths"], " ", c.Scenario.PathCount()))
		}
		if strings.Join(got, "; ") != row.want || err != nil {
			t.Errorf("%v: %v (%v), want %s", row.set, got, err, row.want)
		}
	}
	if _, err := spec.Load("x", text, "matrix.paths=[1, 11]"); err == nil || !strings.Contains(err.Error(), "11 paths need at least 22 clients") {
		t.Errorf("a matrix with too many paths: %v", err)
	}
}
