// Package explain explains failed verdicts: which promise was broken, by which client and when,
// which records of the history prove it, and which operations and faults surround it. It reads
// only histories.
//
//	c, err := report.Judge(dir)
//	for _, s := range explain.Failures(c) {
//		fmt.Println(s.Guarantee, s.Label, s.Reasons)
//	}
package explain

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

type Explanation struct {
	Trial         report.Trial
	Label         string // of the trial's cell: the subject, and the parameters that vary in the run
	GuaranteeName string
	Guarantee     verdict.Guarantee
	Reasons       []string
	ActiveFaults  []string // names of the faults that were active last
	Chart
	Events        []Event
	OmittedEvents int // number of omitted events
}

type Event struct {
	At     time.Duration
	Who    string
	What   string
	Record int  // 0 for a commit
	Proof  bool // the event is evidence of the verdict
	lane   int  // of the chart
}

const (
	explanationLimit = 60  // per folder
	cellLimit        = 400 // per folder of an audit
	clientLimit      = 4
	eventLimit       = 16
	underLimit       = 2                // faults of an explanation
	maxLead          = 10 * time.Second // a fault that ended earlier before the proof is not part of the explanation
)

// Failures explains the failed verdicts of a run: the first of each guarantee, then the others.
// For a deliberately broken subject it explains only the expected violations.
func Failures(c report.Conclusion) []Explanation {
	var explanations []Explanation
	names := matrix.NamesOf(c.Result.Trials)
	for _, f := range failures(c) {
		if len(explanations) == explanationLimit && f.trial.Step == "" || len(explanations) == cellLimit {
			return explanations
		}
		s := Failure(c.Histories[f.trial.Name], f.trial, f.verdict)
		s.Label = names.Label(f.trial.Cell)
		explanations = append(explanations, s)
	}
	return explanations
}

type failure struct {
	trial   report.Trial
	verdict verdict.Verdict
}

func failures(c report.Conclusion) []failure {
	type kind struct {
		guarantee string
		expected  bool
	}
	kindOf := func(f failure) kind {
		return kind{f.verdict.Guarantee, slices.Contains(f.trial.Expect, f.verdict.Guarantee)}
	}
	var all, first, others []failure
	for _, t := range c.Result.Trials {
		for _, v := range t.Verdicts {
			f := failure{t, v}
			if v.Result != report.Fail || len(v.Records) == 0 || len(t.Expect) > 0 && !kindOf(f).expected || c.Histories[t.Name] == nil {
				continue
			}
			all = append(all, f)
			if t.Step != "" {
				break // one explanation for each cell of an audit
			}
		}
	}
	for _, same := range matrix.Group(all, kindOf) {
		first, others = append(first, same[0]), append(others, same[1:]...)
	}
	return append(first, others...)
}

// Failure explains one failed verdict of a trial, up to the point where its history is damaged.
// The label is derived from the single trial, without the parameters that vary in its run.
func Failure(h *history.History, t report.Trial, v verdict.Verdict) Explanation {
	label := matrix.NamesOf([]report.Trial{t}).Label(t.Cell)
	s := Explanation{Trial: t, Label: label, GuaranteeName: v.Guarantee, Reasons: units.Names(v.Reasons, units.ShortenReason)}
	s.Guarantee, _ = verdict.Find(v.Guarantee)
	proof := v.First // the records of the first reason suffice
	if len(proof) == 0 {
		proof = v.Records
	}
	clients := s.locate(h, proof)
	s.addBars(h, clients)
	s.collectEvents(h, clients, proof)
	s.numberEvents()
	return s
}

func readableRecords(h *history.History) iter.Seq[history.Numbered] {
	return func(yield func(history.Numbered) bool) {
		for n, err := range h.Records {
			if err != nil || !yield(n) {
				return
			}
		}
	}
}

// locate returns the clients in the records that prove a failure, and sets the time range of the explanation.
func (s *Explanation) locate(h *history.History, proof []int) (clients []int) {
	first := true
	for n := range readableRecords(h) {
		if !slices.Contains(proof, n.N) {
			continue
		}
		from, to, client := span(n)
		if client >= 0 && !slices.Contains(clients, client) && len(clients) < clientLimit {
			clients = append(clients, client)
		}
		if first || from < s.From {
			s.From = from
		}
		s.To, first = max(s.To, to), false
	}
	slices.Sort(clients)
	s.findFaults(h.Faults, clients)
	pad := max((s.To-s.From)/12, 5*time.Millisecond)
	s.From, s.To = max(s.From-pad, 0), s.To+pad
	return clients
}

// findFaults sets s.ActiveFaults to the faults that were active last, and extends the explanation to their start,
// because they are often the cause.
func (s *Explanation) findFaults(faults []history.Fault, clients []int) {
	earliest := s.From - maxLead
	for _, f := range slices.Backward(faults) {
		affected := f.Client < 0 || slices.Contains(clients, f.Client)
		if !affected || f.Start > s.To || max(f.End, f.Start) < earliest || slices.Contains(s.ActiveFaults, f.Fault) {
			continue
		}
		s.ActiveFaults = append(s.ActiveFaults, f.Fault)
		s.From = min(s.From, max(f.Start, earliest))
		if len(s.ActiveFaults) == underLimit {
			return
		}
	}
}

func span(n history.Numbered) (from, to time.Duration, client int) {
	switch r := n.Record.(type) {
	case *history.Sample:
		if r.Op == history.Acquire { // a long wait would compress everything else
			return r.Return, r.Return, r.Client
		}
		return r.Call, r.Return, r.Client
	case *history.Window:
		return r.Start, max(r.Start, r.End), r.Client
	case *history.Session:
		return r.At, r.At, r.Client
	case *history.ClaimCheck:
		return r.Asked, r.At, r.Client
	case *history.Snapshot:
		return r.Asked, r.At, -1
	case *history.Joined:
		return r.At, r.At, r.Client
	case *history.Leaving:
		return r.At, r.At, r.Client
	case *history.Effort:
		return r.At, r.At, r.Client
	case *history.Holds:
		return r.Asked, r.At, r.Client
	case *history.Paused:
		return r.At, r.At, r.Client
	}
	return n.Time(), n.Time(), -1
}

// addBars adds the bars of the given clients and, up to clientLimit clients, of other clients of their path that held. In a
// trial of at most clientLimit clients, it adds the bars of all.
func (s *Explanation) addBars(h *history.History, clients []int) {
	few := h.Header.Clients <= clientLimit*max(h.Header.Paths, 1)
	added := map[int]bool{}
	for _, c := range clients {
		added[c] = true
	}
	bar := func(client int, from, to time.Duration, kind string) {
		if client < 0 || from > s.To || to < s.From || len(clients) > 0 && h.Header.PathOf(client) != h.Header.PathOf(clients[0]) {
			return
		}
		if added[client] || len(added) < clientLimit && (few || kind == HoldBar || len(clients) == 0) {
			added[client] = true
			s.Add(client, from, to, kind)
		}
	}
	beliefs := facts.NewBeliefs(h.Header, func(b facts.Belief) { bar(b.Client, b.Start, b.End, HoldBar) })
	var end time.Duration
	for n := range readableRecords(h) {
		end = max(end, n.Time())
		beliefs.Add(n)
		if x, ok := n.Record.(*history.Sample); ok && x.Op != history.Write && x.Op != history.Effect {
			bar(x.Client, x.Call, x.Return, WaitBar)
		}
	}
	beliefs.Close(end)
	for _, f := range h.Faults {
		s.Add(-1, f.Start, max(f.End, f.Start), FaultBar)
	}
}

func (s *Explanation) collectEvents(h *history.History, clients, proof []int) {
	c := commits{clients: map[int64]int{}}
	for n := range readableRecords(h) {
		if c.add(n.Record) {
			continue
		}
		s.Events = append(s.Events, c.visible(n, s.Chart, clients)...)
		proves := slices.Contains(proof, n.N)
		if !proves && !s.isRelevant(n, clients) {
			continue
		}
		if e, ok := eventOf(n, h.Header.Recipe); ok {
			e.Proof = proves
			s.Events = append(s.Events, e)
		}
	}
	s.shorten()
}

// numberEvents numbers the events in the lanes of the chart. A single event needs no chart.
func (s *Explanation) numberEvents() {
	if len(s.Events) < 2 {
		s.Lanes = nil
		return
	}
	for i, e := range s.Events {
		if e.At < s.From || e.At > s.To {
			continue
		}
		if e.lane != noLane {
			l := s.lane(e.lane)
			l.Marks = append(l.Marks, Mark{At: e.At, Number: i + 1, Proof: e.Proof})
		}
		if e.At > s.From && e.At < s.To && !slices.Contains(s.EventTimes, e.At) {
			s.EventTimes = append(s.EventTimes, e.At)
		}
	}
	if s.GuaranteeName == verdict.MutualExclusion {
		s.findOverlaps()
	}
}

func (s *Explanation) isRelevant(n history.Numbered, clients []int) bool {
	from, to, client := span(n)
	if from > s.To || to < s.From {
		return false
	}
	_, fault := n.Record.(*history.Window)
	return fault || len(clients) == 0 || slices.Contains(clients, client)
}

// shorten orders the events, and drops those that are not evidence, the furthest from it first.
func (s *Explanation) shorten() {
	slices.SortStableFunc(s.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	var proofs []time.Duration
	for _, e := range s.Events {
		if e.Proof {
			proofs = append(proofs, e.At)
		}
	}
	for len(s.Events) > eventLimit {
		furthest, far := -1, time.Duration(-1)
		for i, e := range s.Events {
			if d := distance(e.At, proofs); !e.Proof && d >= far {
				furthest, far = i, d
			}
		}
		if furthest < 0 {
			return
		}
		s.Events = slices.Delete(s.Events, furthest, furthest+1)
		s.OmittedEvents++
	}
}

func distance(at time.Duration, others []time.Duration) time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, o := range others {
		least = min(least, (at - o).Abs())
	}
	return least
}

// Chart shows the activity between two instants: a lane for each client, the servers and the faults.
type Chart struct {
	From, To time.Duration
	Lanes    []Lane
	Overlaps []Bar // times during which two clients held
	// EventTimes contains the instants of events, in order. The time axis is stretched around them.
	EventTimes []time.Duration
}

type Lane struct {
	Client int // below 0: Servers or Faults
	Bars   []Bar
	Marks  []Mark
}

// Values of Lane.Client for other lanes. These lanes are the last.
const (
	Faults  = -1
	Servers = -2
	noLane  = -3 // for the observer's events
)

// Mark is an event in a lane, with its number in the explanation's list.
type Mark struct {
	At     time.Duration
	Number int
	Proof  bool
}

func (l Lane) Name() string {
	switch l.Client {
	case Faults:
		return "faults"
	case Servers:
		return "servers"
	}
	return fmt.Sprintf("client %d", l.Client)
}

type Bar struct {
	From, To time.Duration
	Kind     string
}

const (
	WaitBar  = "waited" // an operation was in progress
	HoldBar  = "held"   // the client believed that it held
	FaultBar = "fault"  // a fault was active
)

// Kinds contains the kinds of bar, from bottom to top.
var Kinds = []string{WaitBar, HoldBar, FaultBar}

// Add adds a bar, clipped to the chart, to the lane of a client or of the faults.
func (c *Chart) Add(client int, from, to time.Duration, kind string) {
	if from > c.To || to < c.From {
		return
	}
	l := c.lane(client)
	l.Bars = append(l.Bars, Bar{max(from, c.From), min(to, c.To), kind})
}

func (c *Chart) lane(client int) *Lane {
	rank := func(client int) uint { return uint(client) } // so that the lanes of the servers and the faults are last
	i, found := slices.BinarySearchFunc(c.Lanes, client, func(l Lane, client int) int { return cmp.Compare(rank(l.Client), rank(client)) })
	if !found {
		c.Lanes = slices.Insert(c.Lanes, i, Lane{Client: client})
	}
	return &c.Lanes[i]
}

// Position returns the position of an instant in the chart, from 0 to 1. Between two events the axis
// is linear. Half of the width is distributed equally among the intervals between events, so that the events
// do not overlap, and half in proportion to the square root of the intervals' durations.
func (c Chart) Position(t time.Duration) float64 {
	edges := slices.Concat([]time.Duration{c.From}, c.EventTimes, []time.Duration{c.To})
	total, before := 0.0, 0.0
	for i := 1; i < len(edges); i++ {
		total += math.Sqrt(float64(edges[i] - edges[i-1]))
	}
	if !(total > 0) || t <= c.From {
		return 0
	}
	for i := 1; i < len(edges); i++ {
		gap := edges[i] - edges[i-1]
		width := (math.Sqrt(float64(gap))/total + 1/float64(len(edges)-1)) / 2
		if t < edges[i] {
			return before + width*float64(t-edges[i-1])/float64(gap)
		}
		before += width
	}
	return 1
}

func (c *Chart) findOverlaps() {
	var held []Bar
	for _, l := range c.Lanes {
		for _, b := range l.Bars {
			if b.Kind == HoldBar {
				held = append(held, b)
			}
		}
	}
	slices.SortStableFunc(held, func(a, b Bar) int { return cmp.Compare(a.From, b.From) })
	var until time.Duration
	for i, b := range held {
		if to := min(until, b.To); i > 0 && to > b.From {
			c.Overlaps = append(c.Overlaps, Bar{From: b.From, To: to, Kind: HoldBar})
		}
		until = max(until, b.To)
	}
}
