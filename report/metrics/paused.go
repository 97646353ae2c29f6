package metrics

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Names of the metrics of holders whose process was paused past their session timeout.
const (
	PausedBelief  = "pause.false_belief"
	PausedNotice  = "pause.notice"
	PausedBlind   = "pause.unaware_writes"
	PausedThrough = "pause.writes_accepted"
	PausedStopped = "pause.writes_fenced"
)

func init() {
	register(Family{
		Order: 25, About: "A holder that is paused until its session has expired, and then resumed (scenario paused-holder):",
		Definitions: []Definition{
			{Name: PausedBelief, Unit: "ns", Better: Lower, Distribution: true, Shown: []string{"p50"},
				Help: "How long a paused holder still believed that it held the lock after the next client was granted; if it was never notified, until the wait for the notification ended"},
			{Name: PausedNotice, Unit: "ns", Better: Lower, Distribution: true,
				Help: "Time from the resume until the holder was notified of the loss; absent if it never was"},
			{Name: PausedBlind, Unit: "1", Better: Lower,
				Help: "Rounds in which the holder wrote again before it was notified of the loss; count is the number of rounds"},
			{Name: PausedThrough, Unit: "1", Better: Lower,
				Help: "Late writes to an unfenced node that succeeded. A write is late if it was pending at the pause, or was made after the pause and before the notification; count is the number of late writes. Absent if the driver does not offer write"},
			{Name: PausedStopped, Unit: "1", Better: Neither,
				Help: "Late writes to the fenced resource that were rejected because of their token; count is the number of late writes to it"},
		},
		collect: func(f *Fold) collector {
			x := &pauses{fold: f, since: map[int][]history.Sample{}}
			return collector{sample: x.sample, record: x.record, close: x.close}
		},
	})
}

// Pause is a round in which a holder's process was stopped for longer than its session timeout, and
// then resumed. Times count from the signal to stop.
type Pause struct {
	Round   int
	Expired time.Duration // expiry of the session, from the members' logs; 0 if unknown
	Granted time.Duration // return of the next client's grant
	Resumed time.Duration // the signal to continue
	Until   time.Duration // notification that it no longer holds, or the end of the wait for the notification
	Told    bool
	Late    []LateWrite // in order; only fenced writes if the driver does not offer write
}

// LateWrite is a write by a holder that had lost its grant without being notified.
type LateWrite struct {
	At      time.Duration // of the reply
	Fenced  bool          // the write was to the fenced resource
	Outcome history.Outcome
}

type pauses struct {
	fold             *Fold
	since            map[int][]history.Sample // by client: its writes since its last pause
	rounds, blind    int
	untold           int
	effects, through int
	open             int
	writes, stopped  int
	last             *Pause
}

func (x *pauses) sample(s *history.Sample, p *history.Phase) {
	if p.Kind != history.FailoverPhase {
		return
	}
	switch s.Op {
	case history.Effect, history.Write:
		x.since[s.Client] = append(x.since[s.Client], *s)
	}
}

func (x *pauses) record(r history.Record) {
	switch p := r.(type) {
	case *history.Paused:
		x.paused(p)
	case *history.Failover:
		if x.last != nil && p.Round == x.last.Round && p.Expired > 0 {
			x.last.Expired = p.Expired - p.Injected
		}
		x.hand()
		clear(x.since) // the round is over
	}
}

// hand passes the last round to OnPause.
func (x *pauses) hand() {
	if x.last != nil {
		x.fold.OnPause(*x.last)
	}
	x.last = nil
}

func (x *pauses) paused(p *history.Paused) {
	x.hand()
	x.rounds++
	until := p.Told
	if p.By == "" {
		until, x.untold = p.At, x.untold+1
	} else {
		x.fold.observe(PausedNotice, p.Phase, until-p.Resumed)
	}
	x.fold.observe(PausedBelief, p.Phase, until-p.Granted)
	x.last = &Pause{Round: p.Round, Granted: p.Granted - p.Stopped, Resumed: p.Resumed - p.Stopped, Until: until - p.Stopped, Told: p.By != ""}
	first := map[string]bool{}
	acted := map[string]bool{}
	for _, s := range x.since[p.Client] {
		if s.Return < p.Resumed {
			continue
		}
		before := max(s.Call, p.Resumed) < until
		if !first[s.Op] || before {
			x.count(&s)
			x.last.Late = append(x.last.Late, LateWrite{At: s.Return - p.Stopped, Fenced: s.Op == history.Write, Outcome: s.Outcome})
		}
		first[s.Op] = true
		acted[s.Op] = acted[s.Op] || before
	}
	// If the recipe makes writes of its own (effects), the harness's writes to the fenced resource do
	// not count here: their time does not depend on the recipe.
	if acted[history.Effect] || !first[history.Effect] && acted[history.Write] {
		x.blind++
	}
	clear(x.since)
}

// count counts a late write.
func (x *pauses) count(s *history.Sample) {
	if s.Op == history.Write {
		x.writes++
		if s.Outcome == history.Failed {
			x.stopped++
		}
		return
	}
	x.effects++
	switch s.Outcome {
	case history.OK:
		x.through++
	case history.Unknown:
		x.open++
	}
}

func (x *pauses) close(out map[string]Metric) {
	x.hand()
	if x.rounds == 0 {
		return
	}
	of := func(n, all int) Metric {
		return Metric{Unit: "1", Value: new(float64(n)), Count: new(int64(all))}
	}
	out[PausedBlind] = of(x.blind, x.rounds)
	out[PausedStopped] = of(x.stopped, x.writes)
	if x.effects > 0 {
		m := of(x.through, x.effects)
		if x.open > 0 {
			m.Note = units.Plural(x.open, "write") + " with an unknown outcome may have succeeded too"
		}
		out[PausedThrough] = m
	}
	if d := x.fold.distributions[PausedBelief]; x.untold > 0 {
		d.note = "in " + units.Plural(x.untold, "round") + " the client was never notified"
	}
}
