package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestFault_isRefusedWhereItMakesNoSense(t *testing.T) {
	for _, row := range []struct{ name, fault, want string }{
		{"a fault at a time is fine", "{at: 1s, fault: session.close}", ""},
		{"one that repeats is fine", "{at: 1s, every: 1s, times: 3, jitter: 200ms, fault: session.close}", ""},
		{"one at an event is fine", "{on: client 3 holds, fault: session.close}", ""},
		{"after the phase is too late", "{at: 11s, fault: session.close}", "11s is not within the phase"},
		{"it must be healed in time", "{at: 9s, for: 2s, fault: session.freeze}", "must be healed before the phase ends"},
		{"an event must be one", "{on: full moon, fault: session.close}", `"full moon" is not an event`},
		{"a repetition must leave time", "{at: 1s, every: 1ms, fault: session.close}", "1ms is less than 10ms"},
		{"times needs every", "{at: 1s, times: 3, fault: session.close}", "requires every"},
		{"jitter varies no more than there is", "{at: 1s, every: 1s, jitter: 2s, fault: session.close}", "2s is not between 0 and 1s"},
		{"jitter must stay in the phase", "{at: 9s, jitter: 2s, fault: session.close}", "2s after 9s is not within the phase"},
		{"times are not negative", "{at: 1s, every: 1s, times: -1, fault: session.close}", "-1 is not between"},
		{"the fault must exist", "{at: 1s, fault: session.cloze}", `did you mean "session.close"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := spec.Load("x", fmt.Appendf(nil, "{name: x, subjects: [lock/parent], clients: [4], session_timeout: 4s, phases: [{name: p, kind: churn, duration: 10s, hold: 1ms, faults: [%s]}]}", row.fault))
			switch {
			case row.want == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}
