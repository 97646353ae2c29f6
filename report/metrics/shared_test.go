package metrics

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// A grant beside others follows the last release that it had to wait for: of a semaphore any, of a
// read-write lock a conflicting one.
func TestHandoff_ofALockThatSeveralHold(t *testing.T) {
	const ms = time.Millisecond
	type held struct {
		client           int
		mode             string
		call, start, end time.Duration
	}
	for _, row := range []struct {
		name, recipe string
		held         []held
		want         []time.Duration
	}{
		{"a permit", facts.Semaphore, []held{{0, "", 0, 1, 10}, {1, "", 0, 1, 30}, {2, "", 5, 12, 40}}, []time.Duration{2}},
		{"a permit that was free", facts.Semaphore, []held{{0, "", 0, 1, 30}, {1, "", 5, 6, 40}}, nil},
		{"readers follow the writer, and not each other", facts.RWLock,
			[]held{{0, "write", 0, 1, 10}, {1, "read", 2, 13, 20}, {2, "read", 2, 14, 40}, {3, "read", 15, 22, 40}}, []time.Duration{3, 4}},
		{"parties pass after the last call, if all do", facts.Barrier,
			[]held{{0, "", 0, 11, 20}, {1, "", 10, 12, 20}, {0, "", 21, 30, 40}, {0, "", 41, 52, 60}, {1, "", 50, 53, 60}}, []time.Duration{1, 2, 2, 3}},
		{"a writer follows the last reader", facts.RWLock, []held{{0, "read", 0, 1, 10}, {1, "read", 0, 1, 20}, {2, "write", 5, 25, 30}}, []time.Duration{5}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var records []history.Record
			for i, h := range row.held {
				token := int64(i + 1)
				records = append(records, &history.Sample{Client: h.client, Op: history.Acquire, Mode: h.mode, Call: h.call * ms, Return: h.start * ms, Outcome: history.OK, Token: token})
			}
			for i, h := range row.held {
				records = append(records, &history.Sample{Client: h.client, Op: history.Release, Call: h.end * ms, Return: h.end * ms, Outcome: history.OK, Token: int64(i + 1)})
			}
			h := history.Of(history.Header{Recipe: row.recipe, Permits: 2, Cell: history.Cell{Clients: 2}}, records...)
			f := NewFold(h)
			var got []time.Duration
			f.OnHandoff = func(h Handoff) { got = append(got, h.Latency/ms) }
			beliefs := facts.NewBeliefs(h.Header, f.Belief)
			for n := range h.Records {
				f.Record(n)
				beliefs.Add(n)
			}
			beliefs.Close(time.Second)
			if len(got) != len(row.want) {
				t.Fatalf("hand-offs of %v ms, want %v", got, row.want)
			}
			for i := range got {
				if got[i] != row.want[i] {
					t.Errorf("hand-offs of %v ms, want %v", got, row.want)
				}
			}
		})
	}
}
