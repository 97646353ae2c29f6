package verdict

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict/internal/queue"
)

// Sweep checks a history record by record.
type Sweep struct {
	OnBelief  func(b facts.Belief) // receives every belief, for each path in the order of its start
	OnOverlap func(o Overlap)      // receives every time in which two clients held at once

	paths        []*Sweep // the checks of each path, if there are several; then judges only has the checks of the trial itself
	split        *history.PathSplit
	history      *history.History
	judges       []*judge
	truncated    bool // the history is known to be truncated
	beliefs      *facts.Beliefs
	commits      *facts.NodeTable // nil without commits
	grants       *facts.Grants
	items        *queue.Items
	mayHaveItems bool
	seen         recipesSeen
	inapplicable string // why the trial does not apply to the recipe; "" if it does
	end          time.Duration
	records      int
}

type judge struct {
	Guarantee
	checker
}

// notPromised is the checker of a guarantee that the subject does not promise.
var notPromised = checker{finish: func(ending) Verdict {
	return Verdict{Result: NotPromised, Reasons: []string{"the subject does not promise this guarantee"}}
}}

// NewSweep returns a sweep over the history, before the first record. It checks the guarantees that
// the header names, or all if it names none.
func NewSweep(h *history.History) *Sweep {
	asked := h.Header.Guarantees
	wanted := func(name string) bool {
		// Guarantees about the trial are always evaluated.
		return len(asked) == 0 || isOfTrial(name) || slices.Contains(asked, name)
	}
	var commits *facts.NodeTable
	if h.HasCommits {
		commits = facts.NewNodeTable(h)
	}
	if h.Header.Paths <= 1 {
		return newSweep(h, commits, wanted)
	}
	s := newSweep(h, nil, isOfTrial)
	s.split = history.NewPathSplit(h.Header)
	for i := range h.Header.Paths {
		part := h.Part(i)
		path := newSweep(part, commits.Part(part), func(name string) bool { return wanted(name) && !isOfTrial(name) })
		path.OnBelief, path.OnOverlap = func(b facts.Belief) { s.OnBelief(b) }, func(o Overlap) { s.OnOverlap(o) }
		s.paths = append(s.paths, path)
	}
	return s
}

// isOfTrial reports whether a guarantee is about the trial itself, not about its clients.
func isOfTrial(name string) bool { return name == Faults || name == HarnessHealth || name == Completed }

func newSweep(h *history.History, commits *facts.NodeTable, wanted func(guarantee string) bool) *Sweep {
	s := &Sweep{history: h, commits: commits, seen: recipesSeen{recipe: h.Header.Recipe}, OnBelief: func(facts.Belief) {}, OnOverlap: func(Overlap) {}}
	s.beliefs = facts.NewBeliefs(h.Header, s.believe)
	in := &inputs{
		history: h, promises: facts.PromisesOf(h.Header),
		overlap: func(o Overlap) { s.OnOverlap(o) },
	}
	if commits != nil {
		if h.Header.Recipe != Queue {
			s.commits.Persistent = map[string]int64{}
		}
		s.grants = facts.NewGrants(s.commits, in.promises)
		s.beliefs.GrantOf = s.grants.Last
		in.commits, in.grants = s.commits, s.grants
	}
	s.items = queue.New(h, s.commits)
	s.mayHaveItems = h.Header.Recipe == "" || h.Header.Recipe == Queue
	in.items = s.items
	for _, g := range registry {
		if !wanted(g.Name) || s.seen.recipe != "" && !s.seen.concerned(g) && !slices.Contains(h.Header.Guarantees, g.Name) {
			continue
		}
		j := &judge{g, notPromised}
		if g.promised == nil || g.promised(in.promises) {
			j.checker = g.check(in)
		}
		s.judges = append(s.judges, j)
	}
	return s
}

func (s *Sweep) believe(b facts.Belief) {
	for _, j := range s.judges {
		if j.belief != nil && (!s.truncated || j.judgesTruncated && !b.Open) {
			j.belief(b)
		}
	}
	s.OnBelief(b)
}

// Add checks the next record; a record with the number 0 is a commit.
func (s *Sweep) Add(n history.Numbered) {
	if s.paths != nil {
		at := s.split.PathOf(n.Record)
		for i, path := range s.paths {
			if at < 0 || at == i {
				path.Add(n)
			}
		}
	}
	if n.N == 0 {
		if s.commits == nil {
			return
		}
		commit, ok := n.Record.(*history.Commit)
		if ok && s.mayHaveItems {
			s.items.Commit(commit) // before s.commits drops the claims of removed nodes
		}
		s.commits.Record(n.Record)
		for _, j := range s.judges {
			if ok && j.commit != nil {
				j.commit(commit)
			}
		}
		return
	}
	s.records++
	s.end = max(s.end, n.Time())
	s.seen.record(n)
	if f, ok := n.Record.(*history.TrialFailure); ok && f.Inapplicable {
		s.inapplicable = f.Why
	}
	if s.grants != nil {
		s.grants.Record(n)
	}
	for _, j := range s.judges {
		if j.record != nil {
			j.record(n)
		}
	}
	if s.paths != nil {
		return
	}
	s.beliefs.Add(n)
	if s.mayHaveItems {
		s.items.Record(n)
	}
}

// Close returns the verdicts, in the order of [All]. readErr is the error of reading the history,
// nil at its end: a truncated history can prove a failure, never a pass.
func (s *Sweep) Close(readErr error) []Verdict {
	end := ending{at: s.end, truncated: readErr != nil}
	if end.truncated {
		s.truncated = true
	} else if s.grants != nil {
		s.grants.Judge(true)
	}
	s.beliefs.Close(s.end)
	out := s.closePaths(readErr)
	for _, j := range s.judges {
		if !s.seen.concerned(j.Guarantee) && !slices.Contains(s.history.Header.Guarantees, j.Name) {
			continue
		}
		v := j.finish(end)
		if h := s.history.Header; v.Result == Pass && slices.Contains([]string{MutualExclusion, NoEarlyPassage, FIFO}, j.Name) &&
			(h.Clients == 1 || h.Recipe == facts.Semaphore && h.Clients > 0 && h.Clients <= h.Permits) {
			v = notJudged(units.Plural(h.Clients, "client") + " could not exceed what may be held at once: none had to wait for another")
		}
		if s.beliefs.LateRecords > 0 && j.belief != nil && (v.Result == Pass || v.Result == Fail) {
			v = unknown(fmt.Sprintf("%d records came more than %v late: the order of beliefs is uncertain", s.beliefs.LateRecords, facts.ReorderWindow))
		}
		if v.Result == Unknown && s.inapplicable != "" && !isOfTrial(j.Name) {
			v = notJudged(s.inapplicable)
		}
		if v.Result == Pass || v.Result == NotJudged {
			switch {
			case readErr != nil:
				v = unknown(append([]string{"the history could not be read to its end"}, v.Reasons...)...)
			case s.records == 0:
				v = unknown("the history contains no record")
			}
		}
		v.Guarantee = j.Name
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

// readable checks the history itself.
func (s *Sweep) readable(readErr error) Verdict {
	v := Verdict{Guarantee: Readable, Result: Pass}
	switch {
	case errors.Is(readErr, history.ErrTruncated):
		v.Reasons = []string{fmt.Sprintf("%v: later records are unknown", readErr)}
	case readErr != nil:
		v.Reasons = []string{readErr.Error()}
	case s.records == 0:
		v.Reasons = []string{"the history contains no record: nothing was measured"}
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
// no error: a history that cannot be read gives an unknown verdict with the reason.
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
