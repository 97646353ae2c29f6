package verdict

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

func newWriterProgress(in *inputs) checker {
	limit, faults := facts.MaxDetection(in.history), facts.FaultWindows(in.history, facts.MaxDetection(in.history))
	w := &modeWaits{mode: writing}
	var late []string
	return checker{
		record: func(n history.Numbered) {
			if wait, ok := waitOf(n); ok {
				w.add(wait)
			}
			if s, ok := n.Record.(*history.HarnessLoad); ok {
				late = lateness(s)
			}
		},
		belief: func(b facts.Belief) {
			if b.Permits > 1 {
				w.busy = append(w.busy, facts.Span{From: b.Start, To: b.End})
			} else {
				w.earlier = append(w.earlier, facts.Span{From: b.Call, To: b.End})
			}
		},
		finish: func(end ending) Verdict {
			var starved evidence
			var undecided time.Duration
			if end.truncated { // grants for which the client waited may be missing
				w.waits = nil
			}
			for wait, last := range w.passed(faults, limit/2) {
				if wait.free > limit {
					starved.Add([]int{wait.record}, "client %d waited to write, from %v to %v (record %d), although for %v, the last time from %v to %v, without a fault, neither a writer nor an earlier reader held the lock: more than the limit of %v",
						wait.client, wait.from, wait.to, wait.record, wait.free, last.From, last.To, limit)
				} else if wait.inProgress {
					undecided = max(undecided, wait.free)
				}
			}
			if v, found := passedOver(&evidence{}, &starved, late, "waits"); found {
				return v
			}
			switch {
			case limit == 0:
				return unknown("the session timeout is not in the history: the wait limit is unknown")
			case w.granted == 0 && len(w.waits) == 0:
				return notJudged("no client waited to write")
			case undecided > 0:
				return unknown(fmt.Sprintf("a client waited to write at the end of its phase although for %v, without a fault, neither a writer nor an earlier reader had held the lock: the phase ended too early to decide (the limit is %v)",
					undecided.Round(time.Millisecond), limit))
			case w.granted == 0:
				return unknown("clients waited to write, but none was granted")
			}
			return pass(units.Plural(w.granted, "grant") + " for writing")
		},
	}
}

// modeWaits are the waits of the clients that acquire a read-write lock in one mode, and the times
// in which they must wait.
type modeWaits struct {
	mode    string
	busy    facts.Spans
	earlier facts.Spans // grants in the other mode, from the call: those called before a wait may precede it
	waits   []wait      // longer than shortWait
	granted int
}

// joinWait is how much later than a waiting client another may call acquire and precede it in line.
const joinWait = 2 * time.Second

// shortWait is the length up to which waits are not kept: less than any limit.
const shortWait = 500 * time.Millisecond

func (m *modeWaits) add(w wait) {
	switch {
	case w.op != history.Acquire:
	case w.mode == m.mode:
		if w.granted {
			m.granted++
		}
		if w.to-w.from > shortWait {
			m.waits = append(m.waits, w)
		}
	case m.mode == facts.Reading && w.mode == writing: // readers wait behind a waiting writer
		m.busy = append(m.busy, facts.Span{From: w.from, To: w.to})
	}
}

// passed yields the waits in which the client could have been granted for longer than the limit, and the last such
// time. Times that a hand-off may take (facts.Margin) do not count.
func (m *modeWaits) passed(faults facts.Spans, limit time.Duration) iter.Seq2[wait, facts.Span] {
	return func(yield func(wait, facts.Span) bool) {
		busy := facts.Union(slices.Concat(m.busy, faults))
		slices.SortFunc(m.earlier, func(a, b facts.Span) int { return cmp.Compare(a.From, b.From) })
		for i := 1; i < len(m.earlier); i++ { // To becomes the latest end of the grants up to this one
			m.earlier[i].To = max(m.earlier[i].To, m.earlier[i-1].To)
		}
		for _, w := range m.waits {
			from, last := w.from, facts.Span{}
			if i := sort.Search(len(m.earlier), func(i int) bool { return m.earlier[i].From > w.from+joinWait }); i > 0 {
				from = max(from, m.earlier[i-1].To)
			}
			for _, free := range busy.Gaps(from, w.to) {
				if length := free.To - free.From; length > facts.Margin {
					w.free, last = w.free+length, free
				}
			}
			if w.free > limit && limit > 0 && !yield(w, last) {
				return
			}
		}
	}
}
