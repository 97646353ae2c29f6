package second

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Sampler checks windows of a trial a second time while the trial is evaluated: around the first
// overlaps that the verdict counts as exposure, at the beginning, and each time that the number of
// beliefs has doubled. Violations that the verdict finds fail the trial by themselves.
type Sampler struct {
	known  *known
	active []facts.Belief
	window []facts.Belief // beliefs of the open window; empty without one
	count  int            // beliefs
	next   int            // number of beliefs at which another window begins

	exposed      bool // the next belief completes an overlap that was counted as exposure
	overlaps     int  // overlaps that were searched
	violated     bool // the verdict has failed
	searched     int  // windows
	disagreement string
}

const (
	sampleSize   = 24 // beliefs in a window
	overlapLimit = 16 // windows around overlaps
	sampleLimit  = time.Second
)

// NewSamplers prepares the check of a history: a Sampler for each path, which receives the path's beliefs and overlaps.
// Records may be added to any of them.
func NewSamplers(h *history.History) (all []*Sampler) {
	known := newKnown(h, facts.MaxDetection(h))
	for range max(h.Header.Paths, 1) {
		all = append(all, &Sampler{known: known})
	}
	return all
}

func (o *Sampler) Record(n history.Numbered) { o.known.record(n) }

// Overlap adds an overlap of the verdict, before the belief that completes it.
func (o *Sampler) Overlap(v verdict.Overlap) {
	o.exposed, o.violated = true, o.violated || !v.Exposure
}

// Belief adds the next belief, in the order of their start.
func (o *Sampler) Belief(b facts.Belief) {
	if o.violated || o.disagreement != "" {
		return
	}
	o.active = append(slices.DeleteFunc(o.active, func(a facts.Belief) bool { return a.End <= b.Start }), b)
	if o.exposed && o.overlaps < overlapLimit && len(o.active) <= sampleSize {
		o.overlaps++
		o.search(o.active)
	}
	o.exposed = false
	o.collect(b)
}

// collect adds to the window, or begins one with the beliefs that have not ended.
func (o *Sampler) collect(b facts.Belief) {
	switch {
	case len(o.window) > 0:
		o.window = append(o.window, b)
	case o.count >= o.next && len(o.active) < sampleSize:
		o.window, o.next = append(o.window, o.active...), 2*max(o.count, sampleSize)
	}
	o.count++
	if len(o.window) >= sampleSize {
		o.search(o.window)
		o.window = o.window[:0]
	}
}

func (o *Sampler) search(window []facts.Belief) {
	o.searched++
	if check(o.known.holds(window), sampleLimit, o.known.permits) == porcupine.Illegal {
		o.disagreement = fmt.Sprintf("a second check disagrees: between %v and %v, no order of the beliefs allows only one client at a time to hold the grant",
			window[0].Start, window[len(window)-1].End)
	}
}

// Close returns why the second check contradicts the verdict that no two clients held at once;
// empty if it agrees, or the verdict differs.
func (o *Sampler) Close() string {
	if len(o.window) > 0 && !o.violated && o.disagreement == "" {
		o.search(o.window)
	}
	if o.violated {
		return ""
	}
	return o.disagreement
}
