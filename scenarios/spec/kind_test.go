package spec_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestKind_refusesWhatItDoesNotKnow(t *testing.T) {
	for _, c := range []struct {
		name, subject string
		clients, kind string
		want          string // part of the error; empty: none
	}{
		{"a succession", "election/parent", "8", "{kind: succession, rounds: 1, leave: resign, order: [0, 1], hold: 0s}", ""},
		{"a succession of locks", "lock/parent", "2", "{kind: succession, rounds: 1, leave: expire, order: [1], hold: 0s}", ""},
		{"a queue has no leaders", "queue/parent", "8", "{kind: succession, rounds: 1, leave: resign, order: [0], hold: 0s}", "does not grant anything; a succession phase requires a lock or an election"},
		{"an unknown way to leave has a nearest known one", "election/parent", "8", "{kind: succession, rounds: 1, leave: loose, order: [0], hold: 0s}", `did you mean "lose"`},
		{"somebody must leave", "election/parent", "8", "{kind: succession, rounds: 1, leave: lose, hold: 0s}", "order: is required"},
		{"nobody leaves twice", "election/parent", "8", "{kind: succession, rounds: 1, leave: lose, order: [1, 1], hold: 0s}", "is not a valid client number, or occurs twice"},
		{"who leaves must be there", "election/parent", "[2, 8]", "{kind: succession, rounds: 1, leave: lose, order: [2], hold: 0s}", "2 candidates are too few: order lists client 2"},
		{"a succession needs rounds", "election/parent", "8", "{kind: succession, leave: lose, order: [0], hold: 0s}", "rounds: 0 is not between"},
		{"a succession has no faults of its own choice", "election/parent", "8", "{kind: succession, rounds: 1, leave: lose, order: [0], hold: 0s, faults: [{at: 0s, fault: session.close}]}", "faults"},
		{"flaps", "queue/predecessor", "2", "{kind: flap, rounds: 1, hold: 0s}", ""},
		{"somebody must be left to see a flap", "lock/parent", "1", "{kind: flap, rounds: 1, hold: 0s}", "a flap requires other clients that wait"},
		{"flaps end when their rounds are done", "lock/parent", "2", "{kind: flap, rounds: 1, duration: 1s, hold: 0s}", "set rounds"},
		{"a stream", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: 0.5, size: 100, hold: 0s}", ""},
		{"a stream of acquires", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, arrivals: poisson, hold: 0s}", ""},
		{"a ramp", "election/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 40, steps: 2, hold: 0s}", ""},
		{"a lock takes no items", "lock/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: 1, hold: 0s}", "does not have producers"},
		{"a ramp rises", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 20, hold: 0s}", "rate_to: 20 per second: want more than rate (20)"},
		{"what is no ramp has no steps", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, steps: 2, hold: 0s}", "steps: requires rate_to"},
		{"one step is no ramp", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 30, steps: 1, hold: 0s}", "steps: 1 is not between"},
		{"a ramp is undisturbed", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 30, hold: 0s, faults: [{at: 0s, fault: session.close}]}", "faults: a ramp cannot have faults"},
		{"nobody could judge so many", "lock/parent", "1", "{kind: stream, duration: 1m, rate: 1, rate_to: 50000, hold: 0s}", "rate: about 1500030 operations would be due"},
		{"an unknown way to arrive", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 1, arrivals: uniform, hold: 0s}", "is neither constant nor poisson"},
		{"a stream needs producers", "queue/parent", "1", "{kind: stream, duration: 1s, rate: 1, hold: 0s}", "producers: 0 is not between"},
		{"a stream needs a rate", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, hold: 0s}", "rate: 0 per second"},
		{"not a number is no rate", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: .nan, hold: 0s}", "rate: NaN"},
		{"a stream runs for a time", "queue/parent", "1", "{kind: stream, producers: 1, rate: 1, rounds: 3, hold: 0s}", "set duration"},
		{"an item must fit into a znode", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: 1, size: 2000000, hold: 0s}", "size: 2000000 is not between"},
		{"a churn has no rate", "queue/parent", "1", "{kind: churn, duration: 1s, rate: 5, hold: 0s}", "applies only to phases of kind stream"},
		{"a churn has no cause", "lock/parent", "2", "{kind: churn, duration: 1s, cause: crash, hold: 0s}", "applies only to phases of kind failover"},
		{"a queue grants nothing", "queue/parent", "2", "{kind: failover, rounds: 1, cause: crash, hold: 0s}", "does not grant anything"},
		{"somebody must succeed the holder", "lock/parent", "1", "{kind: failover, rounds: 1, cause: crash, hold: 0s}", "1 client is not enough: the holder requires a successor"},
		{"sessions that are only opened", "queue/parent", "1", "{kind: connect, duration: 1s, hold: 0s}", ""},
		{"a connect lasts", "lock/parent", "1", "{kind: connect, hold: 0s}", "duration: 0s is not between"},
		{"nobody contends in a connect", "lock/parent", "3", "{kind: connect, duration: 1s, contenders: 2, hold: 0s}", "contenders: applies only to phases of kind churn"},
		{"some of many contend", "lock/parent", "3", "{kind: churn, duration: 1s, contenders: 3, hold: 0s}", ""},
		{"contenders are clients", "lock/parent", "[3, 8]", "{kind: churn, duration: 1s, contenders: 4, hold: 0s}", "3 clients are fewer than the contenders of the phase (4)"},
		{"not fewer than none", "lock/parent", "3", "{kind: churn, duration: 1s, contenders: -1, hold: 0s}", "contenders: -1 is not between"},
		{"a drain has no order", "lock/parent", "3", "{kind: drain, rounds: 1, order: [0], hold: 0s}", "applies only to phases of kind succession"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "name: x\nsubjects: [" + c.subject + "]\nclients: [" + strings.Trim(c.clients, "[]") + "]\nsession_timeout: 4s\nphases:\n  - " +
				strings.Replace(c.kind, "{", "{name: p, ", 1) + "\n"
			_, err := spec.Load("x", []byte(text))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
