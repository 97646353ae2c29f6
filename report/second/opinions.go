package second

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Opinions asks for a second opinion on windows of a trial while that is judged: around
// the first overlaps that the verdict takes for exposure, and at the beginning and then
// each time that there are twice as many beliefs. What the verdict takes for a violation
// fails the trial by itself.
type Opinions struct {
	known  *known
	active []late // that have not ended when the last begins
	window []late // that is being collected
	opened bool   // a window is
	count  int    // beliefs
	next   int    // at which another window begins

	youngest int64
	exposed  bool // the next belief makes an overlap that was taken for exposure
	overlaps int  // searched
	violated bool // the verdict has failed
	searched int  // windows
	against  string
}

const (
	sampleSize   = 24 // beliefs in a window
	overlapLimit = 16 // windows around overlaps
	sampleLimit  = time.Second
)

// NewOpinions prepares to be asked about the history.
func NewOpinions(h *history.History) *Opinions {
	return &Opinions{known: newKnown(h, verdict.Patience(h))}
}

// Record takes the next record, or commit.
func (o *Opinions) Record(n history.Numbered) {
	switch n.Record.(type) {
	case *history.Session, *history.Commit:
		o.known.record(n)
	}
}

// Overlap takes what the verdict has found, before the belief that completes it.
func (o *Opinions) Overlap(v verdict.Overlap) {
	o.exposed, o.violated = true, o.violated || !v.Exposure
}

// Belief takes the next belief, in the order of their start.
func (o *Opinions) Belief(b verdict.Belief) {
	if o.violated || o.against != "" {
		return
	}
	next := late{b, b.After(o.youngest)}
	o.youngest = max(o.youngest, b.Token)
	o.active = append(slices.DeleteFunc(o.active, func(a late) bool { return a.End <= b.Start }), next)
	if o.exposed && o.overlaps < overlapLimit && len(o.active) <= sampleSize {
		o.overlaps++
		o.search(o.active)
	}
	o.exposed = false
	o.collect(next)
}

// collect fills the window, or begins one with those that have not ended.
func (o *Opinions) collect(b late) {
	switch {
	case o.opened:
		o.window = append(o.window, b)
	case o.count >= o.next && len(o.active) < sampleSize:
		o.opened, o.window, o.next = true, append(o.window[:0], o.active...), 2*max(o.count, sampleSize)
	}
	o.count++
	if len(o.window) >= sampleSize {
		o.search(o.window)
		o.opened, o.window = false, o.window[:0]
	}
}

func (o *Opinions) search(window []late) {
	o.searched++
	if check(o.known.holds(window), sampleLimit).Result == verdict.Fail {
		o.against = fmt.Sprintf("a second opinion does not agree: between %v and %v there is no order in which one held at a time",
			window[0].Start, window[len(window)-1].End)
	}
}

// Close returns why the second opinion is against the verdict that nobody held beside
// another; empty where it agrees, or the verdict is another.
func (o *Opinions) Close() string {
	if o.opened && !o.violated && o.against == "" {
		o.search(o.window)
	}
	if o.violated {
		return ""
	}
	return o.against
}
