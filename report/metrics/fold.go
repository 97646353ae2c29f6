package metrics

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/stats"
)

// Fold computes the metrics of one history. [Fold.Record] and [Fold.Belief] add its records and beliefs.
type Fold struct {
	OnHandoff  func(metric string, h Handoff) // is called for every hand-off, or every delivery of a queue
	OnFailover func(Failover)
	OnRamp     func(Ramp)  // is called by Close for every ramp
	OnPause    func(Pause) // is called for every round in which the holder's process was paused past its session timeout

	history       *history.History
	phases        map[string]*history.Phase
	faults        facts.Spans // times with an active fault
	distributions map[string]*distributed
	collectors    []collector
	holders       holders
	contended     map[string]bool // phases in which a grant or an item was requested
	arrived       *arrived
	end           time.Duration
}

type collector struct {
	sample  func(s *history.Sample, p *history.Phase) // every operation with its phase
	record  func(r history.Record)                    // every other record
	belief  func(b *facts.Belief)                     // every belief
	changed func(last, next *facts.Belief)            // the holder changed within a round
	handoff func(h Handoff, last, next *facts.Belief)
	close   func(out map[string]Metric)
}

type distributed struct {
	histogram *stats.Histogram
	phase     string // the phase of all values; "" if there are several
	never     int64  // number of expected values that never came
	note      string
}

// NewFold returns a Fold for the history, without any records yet.
func NewFold(h *history.History) *Fold {
	f := &Fold{
		OnHandoff: func(string, Handoff) {}, OnFailover: func(Failover) {}, OnRamp: func(Ramp) {}, OnPause: func(Pause) {},
		history: h,
		phases:  map[string]*history.Phase{}, faults: facts.FaultWindows(h, 0), distributions: map[string]*distributed{},
		contended: map[string]bool{},
	}
	for i := range h.Phases {
		f.phases[h.Phases[i].Name] = &h.Phases[i]
	}
	for _, x := range families {
		f.collectors = append(f.collectors, x.collect(f))
	}
	return f
}

// noPhase is the phase of samples outside all recorded phases.
var noPhase history.Phase

func (f *Fold) phase(name string) *history.Phase { return cmp.Or(f.phases[name], &noPhase) }

// Record adds the next record.
func (f *Fold) Record(n history.Numbered) {
	f.end = max(f.end, n.Time())
	s, ok := n.Record.(*history.Sample)
	if w, waits := n.Record.(*history.Waiting); waits {
		f.contended[w.Phase] = true
	}
	if !ok {
		for i := range f.collectors {
			if take := f.collectors[i].record; take != nil {
				take(n.Record)
			}
		}
		return
	}
	if s.Op == history.Acquire || s.Op == history.Take {
		f.contended[s.Phase] = true
	}
	p := f.phase(s.Phase)
	for i := range f.collectors {
		if take := f.collectors[i].sample; take != nil {
			take(s, p)
		}
	}
}

// Close returns all metrics by name. Metrics that were not measured are absent.
func (f *Fold) Close() map[string]Metric {
	out := map[string]Metric{}
	for _, c := range f.collectors {
		if c.close != nil {
			c.close(out)
		}
	}
	for name, d := range f.distributions {
		m := distribution(d.histogram)
		m.Phase, m.Never, m.Note = d.phase, d.never, d.note
		out[name] = m
	}
	return out
}

// Histograms returns the distributions, by metric.
func (f *Fold) Histograms() map[string]*stats.Histogram {
	out := map[string]*stats.Histogram{}
	for name, d := range f.distributions {
		out[name] = d.histogram
	}
	return out
}

// Length returns the latest time in the records.
func (f *Fold) Length() time.Duration { return f.end }

func (f *Fold) observe(metric, phase string, d time.Duration) *distributed {
	x := f.distributions[metric]
	if x == nil {
		x = &distributed{histogram: stats.NewHistogram(), phase: phase}
		f.distributions[metric] = x
	}
	x.histogram.Record(d)
	if x.phase != phase {
		x.phase = ""
	}
	return x
}

// latency adds an operation's time from due to end to the metric. It ignores ramps: beyond the
// subject's capacity, the latency only depends on the length of the ramp.
func (f *Fold) latency(metric, phase string, due, end time.Duration) {
	if f.phase(phase).Ramp() {
		return
	}
	f.observe(metric, phase, end-due)
}

// endOf returns the time when a phase was over for its clients, or the history's end if that time is
// not recorded. Later events (healing, recovery) are not part of the phase.
func (f *Fold) endOf(p *history.Phase) time.Duration { return cmp.Or(p.Over(), f.end) }

// counted reports whether the operation is a grant, or an item taken, that counts for rates. Operations
// in a flap, at the harness's pace, in a ramp, or after the clients were stopped do not count.
func counted(s *history.Sample, p *history.Phase) bool {
	return s.Outcome == history.OK && (s.Op == history.Acquire || s.Op == history.Take) && paced(p) && (p.Stopped == 0 || s.Return <= p.Stopped)
}

func paced(p *history.Phase) bool {
	return p.Kind != history.FlapPhase && p.Pace != history.ByHarness && !p.Ramp()
}

// rated returns the phases that count for rates and in which operations were requested, by name.
func (f *Fold) rated() []string {
	names := slices.Sorted(maps.Keys(f.contended))
	return slices.DeleteFunc(names, func(name string) bool { return !paced(f.phase(name)) })
}
