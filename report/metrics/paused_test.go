package metrics

import (
	"reflect"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// wrote is a late write of client 1: op, when it was called and what became of it.
func (b *line) wrote(op string, at int, outcome history.Outcome) *line {
	return b.add(&history.Sample{Client: 1, Phase: "pause", Op: op, Due: time.Duration(at) * ms, Call: time.Duration(at) * ms,
		Return: time.Duration(at+1) * ms, Outcome: outcome, Token: 5})
}

// paused ends a round in which client 1 stood still from 1 s to 4 s, while client 2 was
// granted at 3.9 s, and was told at an instant; at 0 never, until 9 s.
func (b *line) paused(told int) *line {
	p := &history.Paused{At: 9000 * ms, Phase: "pause", Client: 1, Next: 2, Stopped: 1000 * ms, Granted: 3900 * ms, Resumed: 4000 * ms}
	if told > 0 {
		p.Notified, p.By, p.At = time.Duration(told)*ms, "lost", time.Duration(told)*ms
	}
	return b.add(p)
}

func TestPaused_whatAHolderDoesUntilItIsTold(t *testing.T) {
	pause := func() *line { return new(line).phaseOf("pause", history.FailoverPhase, history.ByHarness, 0, 10_000) }
	for _, row := range []struct {
		name             string
		line             *line
		blind            float64
		through, effects int // -1: not measured
		stopped, writes  int
		belief, notice   int // ms; notice -1: not measured
	}{
		{"it was told before the write that was on its way", pause().wrote(history.Effect, 4005, history.Failed).wrote(history.Write, 4006, history.Failed).paused(4002), 0, 0, 1, 1, 1, 102, 2},
		{"that write went through all the same", pause().wrote(history.Effect, 4005, history.OK).paused(4002), 0, 1, 1, 0, 0, 102, 2},
		{"it wrote before it was told", pause().wrote(history.Effect, 4001, history.OK).wrote(history.Effect, 4100, history.OK).wrote(history.Effect, 4300, history.OK).paused(4200), 1, 2, 2, 0, 0, 300, 200},
		{"what it wrote before the pause is no late write", pause().wrote(history.Write, 900, history.OK).wrote(history.Effect, 4001, history.Unknown).paused(4200), 1, 0, 1, 0, 0, 300, 200},
		{"the client was never notified", pause().wrote(history.Effect, 4001, history.Failed).wrote(history.Write, 8000, history.Failed).paused(0), 1, 0, 1, 1, 1, 5100, -1},
		{"its driver offers no write", pause().wrote(history.Write, 4001, history.Failed).paused(4500), 1, -1, -1, 1, 1, 600, 500},
		{"two rounds", pause().wrote(history.Effect, 4001, history.OK).paused(4500).wrote(history.Effect, 4005, history.OK).paused(4002), 1, 2, 2, 0, 0, 600, 500},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := row.line.measure()
			of := func(name string, value, count int) {
				t.Helper()
				m := got[name]
				if count < 0 {
					if m.Value != nil {
						t.Errorf("%s is %v, want nothing", name, *m.Value)
					}
					return
				}
				if m.Value == nil || *m.Value != float64(value) || m.Count == nil || *m.Count != int64(count) {
					t.Errorf("%s is %+v, want %d of %d", name, m, value, count)
				}
			}
			if m := got[PausedUnaware]; m.Value == nil || *m.Value != row.blind {
				t.Errorf("%s is %+v, want %v", PausedUnaware, m, row.blind)
			}
			of(PausedAccepted, row.through, row.effects)
			of(PausedFenced, row.stopped, row.writes)
			longest := func(name string, want int) {
				t.Helper()
				m := got[name]
				if want < 0 {
					if m.Max != nil {
						t.Errorf("%s is %v, want nothing", name, *m.Max)
					}
					return
				}
				if m.Max == nil || time.Duration(*m.Max).Round(ms) != time.Duration(want)*ms {
					t.Errorf("%s is %+v, want %d ms", name, m, want)
				}
			}
			longest(PausedBelief, row.belief)
			longest(PausedNotice, row.notice)
		})
	}
}

// What is handed over to be drawn has the round whole: its failover, which says when the
// session expired, is recorded after it.
func TestPaused_handsOverEachRound(t *testing.T) {
	l := new(line).phaseOf("pause", history.FailoverPhase, history.ByHarness, 0, 20_000)
	l.wrote(history.Write, 900, history.OK).wrote(history.Effect, 4001, history.OK).wrote(history.Write, 4300, history.Failed).paused(4200)
	l.add(&history.Failover{Phase: "pause", Injected: 1000 * ms, Expired: 3800 * ms, Granted: 3900 * ms})
	l.paused(0) // of this round no failover was recorded: the run was cut short
	h := history.Of(history.Header{Trial: "t"}, l.records...)
	f := NewFold(h)
	for n, err := range h.Records {
		if err != nil {
			t.Fatal(err)
		}
		f.Record(n)
	}
	f.Close()
	got := f.Pauses
	want := []Pause{
		{Expired: 2800 * ms, Granted: 2900 * ms, Resumed: 3000 * ms, Until: 3200 * ms, Notified: true},
		{Granted: 2900 * ms, Resumed: 3000 * ms, Until: 8000 * ms},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
