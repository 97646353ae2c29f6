// Package explain tells the story behind a failed verdict: which promise was broken,
// by whom and when, which records of the history prove it, and what the clients, the
// faults and the requests around it looked like. It reads histories and nothing else.
//
//	c, err := report.Judge(dir)
//	for _, s := range explain.Folder(c) {
//		s.Text(os.Stdout, 100)
//	}
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Story is one failed verdict, told.
type Story struct {
	Trial     report.Trial
	Label     string // names the trial's cell: the subject, and what varies in the run
	Guarantee string // its name
	Promise   verdict.Guarantee
	Reasons   []string
	From, To  time.Duration // what is drawn
	Lanes     []Lane
	Events    []Event
	LeftOut   int // events that were left out
	// Second is the page of a second opinion that agrees, relative to the run folder;
	// empty where none was asked for.
	Second string
}

// Lane is what one client did, or the faults.
type Lane struct {
	Name string
	Bars []Bar
}

// Kinds of bar.
const (
	Held   = "held"   // it believed that it held
	Waited = "waited" // an operation was under way
	Fault  = "fault"  // a fault was in force
)

// Bar is a time in a lane.
type Bar struct {
	From, To time.Duration
	Kind     string
}

// Event is something that happened.
type Event struct {
	At     time.Duration
	Who    string
	What   string
	Record int
	Proof  bool // the verdict cites it
}

// Limits that keep a story short enough to be read.
const (
	storyLimit  = 60 // in a folder
	clientLimit = 8
	eventLimit  = 36
	prelude     = 10 * time.Second // how long before the proof a fault may have struck to be told with it
)

// Folder tells the failed verdicts of a run. Of a subject that is broken on purpose those
// are told that had to catch it.
func Folder(c report.Conclusion) []Story {
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
			s := Tell(h, t, v)
			s.Label = names.Label(t)
			stories = append(stories, s)
		}
	}
	return stories
}

// Tell tells one failed verdict of a trial. A history that is cut short is told as far
// as it goes. Of one trial it is not known what varies in its run: [Folder] knows.
func Tell(h *history.History, t report.Trial, v verdict.Verdict) Story {
	s := Story{Trial: t, Label: matrix.NamesOf([]report.Trial{t}).Label(t), Guarantee: v.Guarantee, Reasons: slices.Clone(v.Reasons)}
	s.Promise, _ = verdict.Find(v.Guarantee)
	for i, r := range s.Reasons {
		s.Reasons[i] = units.Times(r)
	}
	cast := castOf(h, v.Records)
	s.From, s.To = cast.from, cast.to
	s.perform(h, cast, v.Records)
	return s
}

// cast is who takes part in a story, and when it plays.
type cast struct {
	clients  []int
	from, to time.Duration
}

// castOf reads the records that prove a failure: the clients in them, and their times.
func castOf(h *history.History, proof []int) cast {
	var c cast
	first := true
	for n, err := range h.Records {
		if err != nil {
			break
		}
		if !slices.Contains(proof, n.N) {
			continue
		}
		from, to, client := scene(n)
		if client >= 0 && !slices.Contains(c.clients, client) && len(c.clients) < clientLimit {
			c.clients = append(c.clients, client)
		}
		if first || from < c.from {
			c.from = from
		}
		c.to, first = max(c.to, to), false
	}
	slices.Sort(c.clients)
	for _, f := range h.Faults { // what went before is often why
		if f.Start < c.from && f.Start > c.from-prelude && (f.Client < 0 || slices.Contains(c.clients, f.Client)) {
			c.from = f.Start
		}
	}
	pad := max((c.to-c.from)/12, 5*time.Millisecond)
	c.from, c.to = max(c.from-pad, 0), c.to+pad
	return c
}

// scene is when a record plays, and whose it is; -1 for nobody's.
func scene(n history.Numbered) (from, to time.Duration, client int) {
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

// perform fills lanes and events.
func (s *Story) perform(h *history.History, c cast, proof []int) {
	lanes := map[int]*Lane{}
	lane := func(client int, kind string) *Lane {
		extra := len(c.clients) > 0 && !slices.Contains(c.clients, client)
		if client < 0 || extra && kind != Held { // who else held is of interest
			return nil
		}
		if lanes[client] == nil && len(lanes) < clientLimit {
			lanes[client] = &Lane{Name: fmt.Sprintf("client %d", client)}
		}
		return lanes[client]
	}
	bar := func(client int, from, to time.Duration, kind string) {
		if l := lane(client, kind); l != nil && from <= s.To && to >= s.From {
			l.Bars = append(l.Bars, Bar{max(from, s.From), min(to, s.To), kind})
		}
	}
	beliefs := verdict.NewBeliefs(func(b verdict.Belief) { bar(b.Client, b.Start, b.End, Held) })
	var end time.Duration
	for n, err := range h.Records {
		if err != nil {
			break
		}
		end = max(end, n.Time())
		beliefs.Add(n)
		if s, ok := n.Record.(*history.Sample); ok && s.Op != history.Write {
			bar(s.Client, s.Call, s.Return, Waited)
		}
		if e, ok := tell(n); ok && (slices.Contains(proof, n.N) || s.belongs(n, c)) {
			e.Proof = slices.Contains(proof, n.N)
			s.Events = append(s.Events, e)
		}
	}
	beliefs.Close(end)
	faults := Lane{Name: "faults"}
	for _, f := range h.Faults {
		if to := max(f.End, f.Start); f.Start <= s.To && to >= s.From {
			faults.Bars = append(faults.Bars, Bar{max(f.Start, s.From), min(to, s.To), Fault})
		}
	}
	for _, client := range sorted(lanes) {
		s.Lanes = append(s.Lanes, *lanes[client])
	}
	if len(faults.Bars) > 0 {
		s.Lanes = append(s.Lanes, faults)
	}
	s.shorten()
}

// belongs says whether a record that proves nothing is part of the story.
func (s *Story) belongs(n history.Numbered, c cast) bool {
	from, to, client := scene(n)
	if from > s.To || to < s.From {
		return false
	}
	if s, ok := n.Record.(*history.Sample); ok && s.Op == history.Acquire && s.Outcome == history.OK {
		return true
	}
	_, fault := n.Record.(*history.Window)
	return fault || len(c.clients) == 0 || slices.Contains(c.clients, client)
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

func sorted(m map[int]*Lane) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
