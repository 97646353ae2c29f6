package queue

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// Sequence checks the order in which items leave a queue by the calls, if no commit shows that an
// item was removed: if one put returned before another was called, its node was created first. If the
// later item was delivered before the take of the earlier item was called, it has overtaken it.
//
// It keeps the calls of the items in the queue, and for the last takes the newest item that had
// left by then.
type Sequence struct {
	items  *Items
	calls  map[string]*calls // by item: a put or a take without the other
	left   []departure       // by the time of leaving
	judged int
	late   int // takes too old to compare
	broken evidence
}

// calls are the last put and take of an item: an item can be delivered before the producer has the reply.
type calls struct{ put, take call }

type call struct {
	call, back time.Duration
	record     int // 0 for no call
}

// departure is an item that left the queue; no item that had left by that time was put later.
type departure struct {
	item string
	calls
}

// keepTakes is the number of takes that are kept for takes that were called before them.
const keepTakes = 1 << 14

// NewSequence returns a check of the order in which items leave the queue.
func NewSequence(q *Items) *Sequence { return &Sequence{items: q, calls: map[string]*calls{}} }

// Record adds the next record.
func (q *Sequence) Record(n history.Numbered) {
	s, ok := n.Record.(*history.Sample)
	if !ok || s.Item == "" || q.items.linked && q.items.nodesRemoved() {
		return
	}
	switch {
	case s.Op == history.Put && s.Outcome == history.OK:
		facts.ValueAt(q.calls, s.Item).put = call{s.Call, s.Return, n.N}
	case s.Op == history.Put: // its number of nodes and their times are unknown
		delete(q.calls, s.Item)
		return
	case s.Op == history.Take && s.Outcome == history.OK:
		facts.ValueAt(q.calls, s.Item).take = call{s.Call, s.Return, n.N}
	default:
		return
	}
	if c := q.calls[s.Item]; c.put.record > 0 && c.take.record > 0 {
		delete(q.calls, s.Item)
		q.leave(departure{s.Item, *c})
	}
}

// leave compares an item with the newest item that had left when its take was called.
func (q *Sequence) leave(d departure) {
	q.judged++
	switch i := q.before(d.take.call); {
	case i > 0 && q.left[i-1].put.call > d.put.back:
		newer := q.left[i-1]
		q.broken.Add([]int{d.put.record, newer.put.record, newer.take.record, d.take.record},
			"item %q was put at %v (record %d) before item %q was (record %d), but %q had already been taken (record %d) when the take of %q was called, at %v (record %d)",
			d.item, d.put.back, d.put.record, newer.item, newer.put.record, newer.item, newer.take.record, d.item, d.take.call, d.take.record)
	case i == 0 && len(q.left) == 2*keepTakes:
		q.late++
	}
	q.add(d)
}

// add adds a departure, unless a newer item had left before. It replaces later departures of older items.
func (q *Sequence) add(d departure) {
	i := q.before(d.take.back)
	if i > 0 && q.left[i-1].put.call > d.put.call {
		return
	}
	j := i
	for j < len(q.left) && q.left[j].put.call < d.put.call {
		j++
	}
	q.left = slices.Replace(q.left, i, j, d)
	if len(q.left) > 2*keepTakes {
		q.left = append(q.left[:0], q.left[keepTakes:]...)
	}
}

// before returns the number of departures before a time.
func (q *Sequence) before(at time.Duration) int {
	return sort.Search(len(q.left), func(i int) bool { return q.left[i].take.back >= at })
}

// Verdict returns the verdict at the end of the history.
func (q *Sequence) Verdict() Verdict {
	items := q.items
	switch {
	case items.linked && (items.nodesRemoved() || items.commits.IncompleteReason() != ""):
		return items.orderByCommits()
	case q.broken.Count > 0:
		return q.broken.Fail("overtakings")
	case q.judged < 2:
		return unknown(fmt.Sprintf("%d items were certainly put and taken, but a comparison needs two", q.judged))
	case items.linked:
		return pass("no item's node was removed: only the clients' calls were evaluated")
	case q.late > 0:
		return unknown(fmt.Sprintf("%d takes were called before the oldest departure that is kept for comparison", q.late))
	}
	return pass(items.byCalls()...)
}
