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
	OnHandoff func(Handoff) // is called for every hand-off, or every delivery of a queue
	Failovers []Failover
	Pauses    []Pause // rounds in which the holder's process was paused past its session timeout; complete after Close
	Ramps     []Ramp  // set by Close

	history       *history.History
	phases        map[string]*history.Phase
	faults        facts.Spans // times with an active fault
	distributions map[string]*phaseHistogram
	collectors    []collector
	holders       map[int]*holders // by path
	contended     map[string]bool  // phases in which a grant or an item was requested
	openLoops     *openLoops
	end           time.Duration
}

// collector computes some of the metrics. Implementations embed noopCollector for the events that they do not need.
type collector interface {
	sample(s *history.Sample, p *history.Phase) // every operation with its phase
	record(r history.Record)                    // every other record
	belief(b *facts.Belief)                     // every belief
	holderChanged(last, next *facts.Belief)     // the holder changed within a round
	handoff(h Handoff, last, next *facts.Belief)
	close(out map[string]Metric) // adds the metrics
}

type noopCollector struct{}

func (noopCollector) sample(*history.Sample, *history.Phase) {}
func (noopCollector) record(history.Record)                  {}
func (noopCollector) belief(*facts.Belief)                   {}
func (noopCollector) holderChanged(_, _ *facts.Belief)       {}
func (noopCollector) handoff(_ Handoff, _, _ *facts.Belief)  {}
func (noopCollector) close(map[string]Metric)                {}

type phaseHistogram struct {
	histogram *stats.Histogram
	phase     string // the phase of all values; "" if there are several
	never     int64  // number of expected values that never came
	note      string
}

// NewFold returns a Fold for the history, without any records yet.
func NewFold(h *history.History) *Fold {
	f := &Fold{
		OnHandoff: func(Handoff) {},
		history:   h,
		phases:    map[string]*history.Phase{}, faults: facts.FaultWindows(h, 0), distributions: map[string]*phaseHistogram{},
		contended: map[string]bool{}, holders: map[int]*holders{},
	}
	for i := range h.Phases {
		f.phases[h.Phases[i].Name] = &h.Phases[i]
	}
	doubtful := facts.FaultWindows(h, facts.MaxDetection(h)) // also after a fault
	f.openLoops = &openLoops{fold: f, ramps: map[string][]scheduledOp{}}
	f.collectors = []collector{
		&handoffs{fold: f}, &failovers{fold: f},
		&pauses{fold: f, since: map[int][]history.Sample{}},
		f.openLoops, &queue{fold: f, items: map[string]item{}},
		&throughput{fold: f, done: map[string]int64{}, byPath: make([]int64, h.Header.Paths)},
		&fairness{fold: f, grants: map[[2]int]map[int]int{}, total: map[int]int{}},
		&overtaken{fold: f, faults: doubtful, grants: map[int][]time.Duration{}, starved: map[int]bool{}}, &failedOperations{faults: doubtful},
		&recovery{fold: f, held: map[phasePath]time.Duration{}, waits: map[phasePath]time.Duration{}},
		&sessions{fold: f, opened: map[int64]time.Duration{}, ended: map[int64]bool{}},
		&memberLoads{unanswered: map[string]int{}, means: map[string]time.Duration{}},
		&fanout{}, &pipe{},
	}
	for _, collect := range registered {
		f.collectors = append(f.collectors, collect(f))
	}
	return f
}

// noPhase is the phase of samples outside all recorded phases.
var noPhase history.Phase

func (f *Fold) phase(name string) *history.Phase { return cmp.Or(f.phases[name], &noPhase) }

func (f *Fold) Record(n history.Numbered) {
	f.end = max(f.end, n.Time())
	s, ok := n.Record.(*history.Sample)
	if w, waits := n.Record.(*history.Waiting); waits {
		f.contended[w.Phase] = true
	}
	if !ok {
		for _, c := range f.collectors {
			c.record(n.Record)
		}
		return
	}
	if s.Op == history.Acquire || s.Op == history.Take {
		f.contended[s.Phase] = true
	}
	p := f.phase(s.Phase)
	for _, c := range f.collectors {
		c.sample(s, p)
	}
}

// Close returns all metrics by name. Metrics that were not measured are absent.
func (f *Fold) Close() map[string]Metric {
	out := map[string]Metric{}
	for _, c := range f.collectors {
		c.close(out)
	}
	for name, d := range f.distributions {
		m := distribution(d.histogram)
		m.Phase, m.Missing, m.Note = d.phase, d.never, d.note
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

func (f *Fold) observe(metric, phase string, d time.Duration) *phaseHistogram {
	x := f.distributions[metric]
	if x == nil {
		x = &phaseHistogram{histogram: stats.NewHistogram(), phase: phase}
		f.distributions[metric] = x
	}
	x.histogram.Record(d)
	if x.phase != phase {
		x.phase = ""
	}
	return x
}

// endOf returns the time when a phase was over for its clients, or the history's end if that time is
// not recorded. Later events (healing, recovery) are not part of the phase.
func (f *Fold) endOf(p *history.Phase) time.Duration { return cmp.Or(p.ActiveUntil(), f.end) }

// countsForRate reports whether the operation is a grant, or an item taken, that counts for rates. Operations
// in a phase without a rate (see hasRate), or after the clients were stopped, do not count.
func countsForRate(s *history.Sample, p *history.Phase) bool {
	return s.Outcome == history.OK && (s.Op == history.Acquire || s.Op == history.Take) && hasRate(p) && (p.Stopped == 0 || s.Return <= p.Stopped)
}

func (f *Fold) contenders(p *history.Phase) int {
	return cmp.Or(p.Contenders, f.history.Header.Clients)
}

func (f *Fold) pathOf(client int) int { return f.history.Header.PathOf(client) }

// phasePath is a phase by name, and one of the paths.
type phasePath struct {
	phase string
	path  int
}

// hasRate reports whether the phase counts for rates: it is not a flap or a ramp, and the harness does not set
// its pace.
func hasRate(p *history.Phase) bool {
	return p.Kind != history.FlapPhase && p.Pace != history.ByHarness && !p.Ramp()
}

// phasesWithRate returns the phases that count for rates and in which operations were requested, by name.
func (f *Fold) phasesWithRate() []string {
	names := slices.Sorted(maps.Keys(f.contended))
	return slices.DeleteFunc(names, func(name string) bool { return !hasRate(f.phase(name)) })
}
