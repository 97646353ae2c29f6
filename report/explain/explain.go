// Package explain explains a failed verdict: which promise was broken, by whom and when,
// which records of the history prove it, and what the clients, the faults and the
// requests around it looked like. It reads histories and nothing else.
//
//	c, err := report.Judge(dir)
//	for _, s := range explain.Failures(c) {
//		fmt.Println(s.Guarantee, s.Label, s.Reasons)
//	}
package explain

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Story is one failed verdict, explained.
type Story struct {
	Trial     report.Trial
	Label     string // names the trial's cell: the subject, and what varies in the run
	Guarantee string
	Promise   verdict.Guarantee
	Reasons   []string
	Chart
	Events  []Event
	LeftOut int // events that were left out
	// Second is the page of a second opinion that agrees, relative to the run folder;
	// empty where none was asked for.
	Second string
}

// Event is something that happened.
type Event struct {
	At     time.Duration
	Who    string
	What   string
	Record int
	Proof  bool // the verdict cites it
}

// Limits that keep a story short.
const (
	storyLimit  = 60 // in a folder
	clientLimit = 8
	eventLimit  = 36
	prelude     = 10 * time.Second // how long before the proof a fault may have begun to be part of the story
)

// Failures explains the failed verdicts of a run. Of a subject that is broken on purpose
// it explains those that had to catch it.
func Failures(c report.Conclusion) []Story {
	var stories []Story
	names := matrix.NamesOf(c.Result.Trials)
	for _, t := range c.Result.Trials {
		for _, v := range t.Verdicts {
			if v.Result != report.Fail || len(v.Records) == 0 || len(t.Expect) > 0 && !slices.Contains(t.Expect, v.Guarantee) {
				continue
			}
			if len(stories) == storyLimit {
				return stories
			}
			h := c.Histories[t.Name]
			if h == nil {
				break
			}
			s := Failure(h, t, v)
			s.Label = names.Label(t.Cell)
			stories = append(stories, s)
		}
	}
	return stories
}

// Failure explains one failed verdict of a trial. A history that is cut short is explained
// as far as it goes. The label is that of the trial alone: what varies in its run, only
// [Failures] knows.
func Failure(h *history.History, t report.Trial, v verdict.Verdict) Story {
	s := Story{Trial: t, Label: matrix.NamesOf([]report.Trial{t}).Label(t.Cell), Guarantee: v.Guarantee, Reasons: slices.Clone(v.Reasons)}
	s.Promise, _ = verdict.Find(v.Guarantee)
	for i, r := range s.Reasons {
		s.Reasons[i] = units.Times(r)
	}
	clients := s.locate(h, v.Records)
	s.draw(h, clients)
	s.collect(h, clients, v.Records)
	return s
}

// readable yields the records of a history up to where it is damaged.
func readable(h *history.History) iter.Seq[history.Numbered] {
	return func(yield func(history.Numbered) bool) {
		for n, err := range h.Records {
			if err != nil || !yield(n) {
				return
			}
		}
	}
}

// locate finds the clients in the records that prove a failure, and when it happened.
func (s *Story) locate(h *history.History, proof []int) (clients []int) {
	first := true
	for n := range readable(h) {
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
	for _, f := range h.Faults { // what went before is often why
		if f.Start < s.From && f.Start > s.From-prelude && (f.Client < 0 || slices.Contains(clients, f.Client)) {
			s.From = f.Start
		}
	}
	pad := max((s.To-s.From)/12, 5*time.Millisecond)
	s.From, s.To = max(s.From-pad, 0), s.To+pad
	return clients
}

// span is the time that a record speaks of, and the client; -1 for none.
func span(n history.Numbered) (from, to time.Duration, client int) {
	switch r := n.Record.(type) {
	case *history.Sample:
		if r.Op == history.Acquire { // a long wait would push all else together
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
	case *history.Committed:
		return r.At, r.At, r.Client
	case *history.Effort:
		return r.At, r.At, r.Client
	}
	return n.Time(), n.Time(), -1
}

// draw fills the lanes: what the clients did, who else held, and the faults.
func (s *Story) draw(h *history.History, clients []int) {
	drawn := map[int]bool{}
	bar := func(client int, from, to time.Duration, kind string) {
		other := len(clients) > 0 && !slices.Contains(clients, client)
		if client < 0 || other && kind != Held || from > s.To || to < s.From {
			return
		}
		if drawn[client] || len(drawn) < clientLimit {
			drawn[client] = true
			s.Add(client, from, to, kind)
		}
	}
	beliefs := verdict.NewBeliefs(func(b verdict.Belief) { bar(b.Client, b.Start, b.End, Held) })
	var end time.Duration
	for n := range readable(h) {
		end = max(end, n.Time())
		beliefs.Add(n)
		if x, ok := n.Record.(*history.Sample); ok && x.Op != history.Write {
			bar(x.Client, x.Call, x.Return, Waited)
		}
	}
	beliefs.Close(end)
	for _, f := range h.Faults {
		s.Add(-1, f.Start, max(f.End, f.Start), Fault)
	}
}

// collect fills the events.
func (s *Story) collect(h *history.History, clients, proof []int) {
	for n := range readable(h) {
		proves := slices.Contains(proof, n.N)
		if !proves && !s.belongs(n, clients) {
			continue
		}
		if e, ok := eventOf(n); ok {
			e.Proof = proves
			s.Events = append(s.Events, e)
		}
	}
	s.shorten()
}

// belongs says whether a record that proves nothing is part of the story.
func (s *Story) belongs(n history.Numbered, clients []int) bool {
	from, to, client := span(n)
	if from > s.To || to < s.From {
		return false
	}
	if x, ok := n.Record.(*history.Sample); ok && x.Op == history.Acquire && x.Outcome == history.OK {
		return true
	}
	_, fault := n.Record.(*history.Window)
	return fault || len(clients) == 0 || slices.Contains(clients, client)
}

// shorten orders the events, and leaves out the last of those that prove nothing.
func (s *Story) shorten() {
	slices.SortStableFunc(s.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	for i := len(s.Events) - 1; i >= 0 && len(s.Events) > eventLimit; i-- {
		if !s.Events[i].Proof {
			s.Events = slices.Delete(s.Events, i, i+1)
			s.LeftOut++
		}
	}
}
