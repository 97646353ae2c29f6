package verdict

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// Sweep checks a history record by record.
type Sweep struct {
	OnBelief  func(b Belief)  // receives every belief in the order of its start
	OnOverlap func(o Overlap) // receives every time in which two clients held at once

	history *history.History
	judges  []judge
	record  []func(history.Numbered) // of the checks that use records
	belief  []func(Belief)           // of guarantees that use beliefs
	commit  []func(history.Record)   // of guarantees that use commits
	rest    []func(Belief)
	cut     bool // the history is known to be truncated
	beliefs *Beliefs
	line    *nodeTable // nil without commits
	grants  *grants
	items   *items
	queue   bool // there may be items
	seen    seen
	end     time.Duration
	records int
}

// judge is a guarantee and its checker.
type judge struct {
	Guarantee
	checker
}

// notPromised is the checker of a guarantee that the subject does not promise.
var notPromised = checker{finish: func(ending) Verdict {
	return Verdict{Result: NotPromised, Reasons: []string{"the subject does not promise it"}}
}}

// NewSweep returns a sweep over the history, before the first record. It checks the guarantees that
// the header names, or all if it names none.
func NewSweep(h *history.History) *Sweep {
	asked := h.Header.Guarantees
	return newSweep(h, func(name string) bool {
		// Those about the trial are always evaluated.
		return len(asked) == 0 || name == Faults || name == Fit || name == Played || slices.Contains(asked, name)
	})
}

func newSweep(h *history.History, wanted func(name string) bool) *Sweep {
	s := &Sweep{history: h, seen: seen{recipe: h.Header.Recipe}, OnBelief: func(Belief) {}, OnOverlap: func(Overlap) {}}
	s.beliefs = NewBeliefs(h.Header, s.believe)
	in := &inputs{
		history: h, promises: promisesOf(h.Header),
		overlap: func(o Overlap) { s.OnOverlap(o) },
	}
	if h.Commits {
		s.line = newLine()
		if h.Header.Recipe != Queue {
			s.line.persistent = map[string]int64{}
		}
		s.grants = newGrants(s.line, in.promises)
		s.beliefs.granted = s.grants.last
		in.line, in.grants = s.line, s.grants
	}
	s.items = newItems(h, s.line)
	s.queue = h.Header.Recipe == "" || h.Header.Recipe == Queue
	in.items = s.items
	for _, g := range registry {
		if !wanted(g.Name) || s.seen.recipe != "" && !s.seen.concerned(g) && !slices.Contains(h.Header.Guarantees, g.Name) {
			continue
		}
		j := judge{g, notPromised}
		if g.promised == nil || g.promised(in.promises) {
			j.checker = g.check(in)
		}
		s.judges = append(s.judges, j)
		if j.record != nil {
			s.record = append(s.record, j.record)
		}
		if j.belief != nil {
			s.belief = append(s.belief, j.belief)
		}
		if j.rest != nil {
			s.rest = append(s.rest, j.rest)
		}
		if j.commit != nil {
			s.commit = append(s.commit, j.commit)
		}
	}
	return s
}

func (s *Sweep) believe(b Belief) {
	if !s.cut || !b.open {
		for _, take := range s.belief {
			take(b)
		}
	}
	s.OnBelief(b)
}

func (s *Sweep) Add(n history.Numbered) {
	if n.N == 0 { // a commit
		if s.queue {
			s.items.commits.commit(n.Record) // before the line drops the claims of removed nodes
		}
		s.line.record(n.Record)
		for _, take := range s.commit {
			take(n.Record)
		}
		return
	}
	s.records++
	s.end = max(s.end, n.Time())
	s.seen.record(n)
	if s.grants != nil {
		s.grants.record(n)
	}
	for _, take := range s.record {
		take(n)
	}
	s.beliefs.Add(n)
	if s.queue {
		s.items.record(n)
	}
}

// Close returns the verdicts, in the order of [All]. readErr is the error of reading the history,
// nil at its end: a truncated history can prove a failure, never a pass.
func (s *Sweep) Close(readErr error) []Verdict {
	end := ending{at: s.end, cut: readErr != nil}
	if end.cut {
		s.cut, s.belief = true, s.rest
	} else if s.grants != nil {
		s.grants.close()
	}
	s.beliefs.Close(s.end)
	var out []Verdict
	for _, j := range s.judges {
		if !s.due(j) {
			continue
		}
		v := j.finish(end)
		if s.beliefs.Late > 0 && j.belief != nil && (v.Result == Pass || v.Result == Fail) {
			v = unknown(fmt.Sprintf("%d records came more than %v late: the order of beliefs is in doubt", s.beliefs.Late, reorder))
		}
		v.Guarantee = j.Name
		if v.Result == Pass || v.Result == NotJudged {
			switch {
			case readErr != nil:
				v = unknown(append([]string{"the history could not be read to its end"}, v.Reasons...)...)
			case s.records == 0:
				v = unknown("the history holds no record")
			}
			v.Guarantee = j.Name
		}
		if v.Reasons == nil {
			v.Reasons = []string{}
		}
		out = append(out, v)
	}
	if v := s.readable(readErr); v.Result != Pass {
		out = append(out, v)
	}
	return out
}

// due reports whether there is a verdict: on each guarantee that the header names, regardless of
// the history.
func (s *Sweep) due(j judge) bool {
	if slices.Contains(s.history.Header.Guarantees, j.Name) {
		return true
	}
	return s.seen.concerned(j.Guarantee)
}

// readable checks the history itself.
func (s *Sweep) readable(readErr error) Verdict {
	v := Verdict{Guarantee: Readable, Result: Pass}
	switch {
	case errors.Is(readErr, history.ErrTruncated):
		v.Reasons = []string{fmt.Sprintf("%v: later records are not known", readErr)}
	case readErr != nil:
		v.Reasons = []string{readErr.Error()}
	case s.records == 0:
		v.Reasons = []string{"the history holds no record: nothing was measured"}
	}
	for _, name := range s.history.Header.Guarantees {
		if _, known := Find(name); !known {
			v.Reasons = append(v.Reasons, fmt.Sprintf("unknown guarantee %q was requested", name))
		}
	}
	if len(v.Reasons) > 0 {
		v.Result = Unknown
	}
	return v
}

// Judge reads the history once and returns a verdict for each guarantee that applies to it. It has
// no error: for a history that cannot be read there is an unknown verdict with the reason.
func Judge(h *history.History) []Verdict {
	s := NewSweep(h)
	for n, err := range h.Records {
		if err != nil {
			return s.Close(err)
		}
		s.Add(n)
	}
	return s.Close(nil)
}
