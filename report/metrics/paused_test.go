package metrics

import (
	"fmt"
	"slices"
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
		name string
		line *line
		want string
	}{
		{"it was told before the write that was on its way", pause().wrote(history.Effect, 4005, history.Failed).wrote(history.Write, 4006, history.Failed).paused(4002),
			"unaware 0, accepted 0 of 1, fenced 1 of 1, belief 102ms, notice 2ms"},
		{"that write went through all the same", pause().wrote(history.Effect, 4005, history.OK).paused(4002),
			"unaware 0, accepted 1 of 1, fenced 0 of 0, belief 102ms, notice 2ms"},
		{"it wrote before it was told", pause().wrote(history.Effect, 4001, history.OK).wrote(history.Effect, 4100, history.OK).wrote(history.Effect, 4300, history.OK).paused(4200),
			"unaware 1, accepted 2 of 2, fenced 0 of 0, belief 300ms, notice 200ms"},
		{"what it wrote before the pause is no late write", pause().wrote(history.Write, 900, history.OK).wrote(history.Effect, 4001, history.Unknown).paused(4200),
			"unaware 1, accepted 0 of 1, fenced 0 of 0, belief 300ms, notice 200ms"},
		{"the client was never notified", pause().wrote(history.Effect, 4001, history.Failed).wrote(history.Write, 8000, history.Failed).paused(0),
			"unaware 1, accepted 0 of 1, fenced 1 of 1, belief 5.1s, notice not measured"},
		{"its driver offers no write", pause().wrote(history.Write, 4001, history.Failed).paused(4500),
			"unaware 1, accepted not measured, fenced 1 of 1, belief 600ms, notice 500ms"},
		{"two rounds", pause().wrote(history.Effect, 4001, history.OK).paused(4500).wrote(history.Effect, 4005, history.OK).paused(4002),
			"unaware 1, accepted 2 of 2, fenced 0 of 0, belief 600ms, notice 500ms"},
	} {
		m := row.line.measure()
		got := fmt.Sprintf("unaware %v, accepted %s, fenced %s, belief %s, notice %s", *m[PausedUnaware].Value,
			said(m[PausedAccepted]), said(m[PausedFenced]), said(m[PausedBelief]), said(m[PausedNotice]))
		if got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// said is what a metric says: a number of several, or the longest time.
func said(m Metric) string {
	switch {
	case m.Max != nil:
		return time.Duration(*m.Max).Round(ms).String()
	case m.Value != nil:
		return fmt.Sprintf("%v of %d", *m.Value, *m.Count)
	}
	return "not measured"
}

// What is handed over to be drawn has the round whole: its failover, which says when the
// session expired, is recorded after it.
func TestPaused_handsOverEachRound(t *testing.T) {
	l := new(line).phaseOf("pause", history.FailoverPhase, history.ByHarness, 0, 20_000)
	l.wrote(history.Write, 900, history.OK).wrote(history.Effect, 4001, history.OK).wrote(history.Write, 4300, history.Failed).paused(4200)
	l.add(&history.Failover{Phase: "pause", Injected: 1000 * ms, Expired: 3800 * ms, Granted: 3900 * ms})
	l.paused(0) // of this round no failover was recorded: the run was cut short
	f, _ := folded(l.history())
	want := []Pause{
		{Expired: 2800 * ms, Granted: 2900 * ms, Resumed: 3000 * ms, Until: 3200 * ms, Notified: true},
		{Granted: 2900 * ms, Resumed: 3000 * ms, Until: 8000 * ms},
	}
	if !slices.Equal(f.Pauses, want) {
		t.Errorf("got  %+v\nwant %+v", f.Pauses, want)
	}
}
