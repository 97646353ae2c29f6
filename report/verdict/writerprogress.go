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
			if end.truncated { // grants for which the client waited may be missing
				w.waits = nil
			}
			for wait, free := range w.passed(faults, limit) {
				starved.Add([]int{wait.record}, "client %d waited to write, from %v to %v (record %d), although from %v to %v, without a fault, neither a writer nor an earlier reader held the lock: more than the limit of %v",
					wait.client, wait.from, wait.to, wait.record, free.From, free.To, limit)
			}
			if v, found := passedOver(&evidence{}, &starved, late, "waits"); found {
				return v
			}
			switch {
			case limit == 0:
				return unknown("the session timeout is not in the history: the wait limit is unknown")
			case w.calls == 0:
				return notJudged("no client waited to write")
			}
			return pass(fmt.Sprintf("%s for writing", units.Plural(w.calls, "acquire")))
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
	calls   int
}

// joinWait is how much later than a waiting client another may call acquire and precede it in line.
const joinWait = 2 * time.Second

// shortWait is the length up to which waits are not kept: less than any limit.
const shortWait = 500 * time.Millisecond

func (m *modeWaits) add(w wait) {
	switch {
	case w.op != history.Acquire:
	case w.mode == m.mode:
		m.calls++
		if w.to-w.from > shortWait {
			m.waits = append(m.waits, w)
		}
	case m.mode == facts.Reading && w.mode == writing: // readers wait behind a waiting writer
		m.busy = append(m.busy, facts.Span{From: w.from, To: w.to})
	}
}

// passed yields the waits in which the client could have been granted for longer than the limit, with
// the first such time.
func (m *modeWaits) passed(faults facts.Spans, limit time.Duration) iter.Seq2[wait, facts.Span] {
	return func(yield func(wait, facts.Span) bool) {
		busy := facts.Union(slices.Concat(m.busy, faults))
		slices.SortFunc(m.earlier, func(a, b facts.Span) int { return cmp.Compare(a.From, b.From) })
		for i := 1; i < len(m.earlier); i++ { // To becomes the latest end of the grants up to this one
			m.earlier[i].To = max(m.earlier[i].To, m.earlier[i-1].To)
		}
		for _, w := range m.waits {
			from := w.from
			if i := sort.Search(len(m.earlier), func(i int) bool { return m.earlier[i].From > w.from+joinWait }); i > 0 {
				from = max(from, m.earlier[i-1].To)
			}
			if free, long := busy.FindGap(from, w.to, limit); long && limit > 0 && !yield(w, free) {
				return
			}
		}
	}
}
