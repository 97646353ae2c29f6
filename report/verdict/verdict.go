// Package verdict checks which guarantees a history keeps and which it breaks.
//
//	h, err := history.Open("history/herd-lock-parent-50.jsonl.zst")
//	for _, v := range verdict.Judge(h) {
//		fmt.Println(v.Guarantee, v.Result, v.Reasons)
//	}
//
// Every [Guarantee] has a checker that processes the records one by one with little memory, so that a
// history larger than memory is evaluated in one reading. [All] lists them.
//
// No verdict is a false alarm:
// a violation that cannot be proven is unknown.
package verdict

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict/internal/finding"
	"github.com/zkbench/zkbench/report/verdict/internal/queue"
)

// The results of a verdict.
const (
	Pass        = finding.Pass
	Fail        = finding.Fail
	Unknown     = finding.Unknown
	NotPromised = finding.NotPromised
	NotJudged   = finding.NotJudged
)

// IsChecked reports whether a result comes from a check: pass, fail or unknown.
func IsChecked(result string) bool { return result != NotPromised && result != NotJudged }

// Readable names the verdict about a history itself. It is given only if the history is in doubt,
// and is not a [Guarantee].
const Readable = "history"

// Verdict is the result of the check of one guarantee in one history.
type Verdict = finding.Verdict

type evidence = finding.Evidence

// Severity orders results: the worse, the higher. Results that do not count are below all others.
// Anything else that is neither pass nor fail is unknown.
func Severity(result string) int {
	switch {
	case result == Fail:
		return 2
	case result == Pass:
		return 0
	case !IsChecked(result):
		return -1
	}
	return 1
}

// Worst returns the worst of the results; unknown without results. Results that do not count are
// ignored.
func Worst(results ...string) string {
	if len(results) == 0 {
		return Unknown
	}
	worst := 0
	for _, r := range results {
		worst = max(worst, Severity(r))
	}
	return []string{Pass, Unknown, Fail}[worst]
}

func pass(reasons ...string) Verdict      { return finding.Conclude(Pass, reasons...) }
func unknown(reasons ...string) Verdict   { return finding.Conclude(Unknown, reasons...) }
func notJudged(reasons ...string) Verdict { return finding.Conclude(NotJudged, reasons...) }

// checker checks one guarantee in one history. All functions but finish may be nil.
type checker struct {
	record          func(n history.Numbered) // every record, in order
	belief          func(b facts.Belief)     // every belief, in the order of its start
	judgesTruncated bool                     // belief takes the rest of a truncated history, if its end is known
	commit          func(c *history.Commit)  // every commit, before the first record of a client that may know of it
	// finish returns the verdict.
	finish func(end ending) Verdict
}

type ending struct {
	at time.Duration // the latest time in the history
	// truncated means that the rest could not be read. Operations are recorded when they return, so a missing
	// record may be there: a finding that depends on its absence proves nothing.
	truncated bool
}

// inputs are the inputs of a checker in addition to records and beliefs.
type inputs struct {
	history  *history.History
	promises history.Promises
	overlap  func(Overlap)
	items    *queue.Items
	commits  *facts.NodeTable // the nodes by the commits; nil without commits
	grants   *facts.Grants    // looked up in commits; nil without
}

// recipesSeen records which kinds of recipe the operations of a history belong to, if its header does not
// name one.
type recipesSeen struct {
	recipe        string // from the header
	grants, items bool
}

func (s *recipesSeen) record(n history.Numbered) {
	if s.recipe != "" {
		return
	}
	if sample, ok := n.Record.(*history.Sample); ok {
		switch sample.Op {
		case history.Acquire:
			s.grants = true
		case history.Put, history.Take:
			s.items = true
		}
	}
}

// concerned reports whether the guarantee applies to the subject's recipe, or to a recipe that was seen.
// A history without operations counts as a lock's, so that it is evaluated.
func (s *recipesSeen) concerned(g Guarantee) bool {
	if s.recipe != "" {
		return slices.Contains(g.Concerns, s.recipe)
	}
	return s.items && slices.Contains(g.Concerns, Queue) ||
		(s.grants || !s.items) && (slices.Contains(g.Concerns, Lock) || slices.Contains(g.Concerns, Election))
}
