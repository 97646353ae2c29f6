package queue

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// Sequence checks by the calls the order in which items are delivered whose nodes were not removed before, as far as
// commits show: if one put returned before another was called, its node was created first. If the later item was
// delivered before the first take of the earlier item was called, it has overtaken it, unless a client had claimed
// the earlier item. A claim without a delivery is possible if a take fails, a session ends or a fault is near.
//
// It keeps the calls of the items in the queue, and for the last takes the newest item that had
// left by then.
type Sequence struct {
	items   *Items
	calls   map[string]*calls // by item: a put or a take without the other
	left    []departure       // by the time of leaving
	judged  int
	late    int            // takes too old to compare
	found   [][2]departure // items that were taken although an older one, the first, was taken later; at most keepTakes
	linger  time.Duration  // how long the claim of a dead client may exist
	excuses facts.Spans    // times in which a client may have claimed an item without a delivery
}

// calls are the last put and first take of an item: an item can be delivered before the producer has the reply.
type calls struct {
	put, take    call
	removedFirst bool // its node was removed before the take returned it
}

type call struct {
	call, back    time.Duration
	record        int // 0 for no call
	session, zxid int64
}

// departure is an item that left the queue; no item that had left by that time was put later.
type departure struct {
	item string
	calls
}

// keepTakes is the number of takes that are kept for takes that were called before them.
const keepTakes = 1 << 14

// NewSequence returns a check of the order in which items leave the queue.
func NewSequence(q *Items, h *history.History) *Sequence {
	linger := cmp.Or(facts.MaxDetection(h), time.Minute)
	return &Sequence{items: q, calls: map[string]*calls{}, linger: linger, excuses: facts.FaultWindows(h, linger)}
}

// Record adds the next record.
func (q *Sequence) Record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Session:
		if r.Event == history.Lost || r.Event == history.Expired || r.Event == history.Killed {
			q.excuse(0, r.At)
		}
	case *history.Sample:
		if r.Op == history.Take && r.Outcome != history.OK {
			q.excuse(r.Call, r.Return)
		}
		if r.Item != "" {
			q.sample(r, n.N)
		}
	}
}

// excuse adds the time of a claim without a delivery, which lasted until the claim's client was dead.
func (q *Sequence) excuse(from, to time.Duration) {
	q.excuses = facts.Union(append(q.excuses, facts.Span{From: max(from, to-q.linger), To: to + q.linger}))
}

func (q *Sequence) sample(s *history.Sample, record int) {
	i, this := q.items.open[s.Item], call{s.Call, s.Return, record, q.items.current[s.Client], s.Zxid}
	switch {
	case s.Op == history.Put && s.Outcome == history.OK:
		facts.ValueAt(q.calls, s.Item).put = this
	case s.Op == history.Put: // its number of nodes and their times are unknown
		delete(q.calls, s.Item)
		return
	case s.Op == history.Take && s.Outcome == history.OK && (i == nil || i.taken == 0):
		c := facts.ValueAt(q.calls, s.Item)
		c.take, c.removedFirst = this, q.items.linked && i != nil && i.left
	default:
		return
	}
	if c := q.calls[s.Item]; c.put.record > 0 && c.take.record > 0 {
		delete(q.calls, s.Item)
		if !c.removedFirst {
			q.leave(departure{s.Item, *c}, i)
		}
	}
}

// leave compares an item with the newest item that had left when its take was called.
func (q *Sequence) leave(d departure, item *Item) {
	q.judged++
	switch i := q.before(d.take.call); {
	case i > 0 && q.left[i-1].put.call > d.put.back && len(q.found) < keepTakes:
		newer := q.left[i-1]
		if at := newer.take; q.items.commits == nil || item == nil || !q.items.claimed(item, at.session, at.zxid, at.zxid) {
			q.found = append(q.found, [2]departure{d, newer})
		}
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

// findings returns the proven overtakings, and how many are not proven.
func (q *Sequence) findings() (broken evidence, doubtful int) {
	excuses := facts.Union(q.excuses)
	for _, f := range q.found {
		old, newer := f[0], f[1]
		if excuses.Touches(newer.take.call, newer.take.back) {
			doubtful++
			continue
		}
		broken.Add([]int{old.put.record, newer.put.record, newer.take.record, old.take.record},
			"item %q was put at %v (record %d) before item %q was (record %d), but %q had already been taken (record %d) when the take of %q was called, at %v (record %d)",
			old.item, old.put.back, old.put.record, newer.item, newer.put.record, newer.item, newer.take.record, old.item, old.take.call, old.take.record)
	}
	return broken, doubtful
}

// Verdict returns the verdict at the end of the history. If it is truncated, a take may have failed later.
func (q *Sequence) Verdict(end time.Duration, truncated bool) Verdict {
	if truncated {
		q.excuses = append(q.excuses, facts.Span{From: end - q.linger, To: facts.Forever})
	}
	items := q.items
	broken, doubtful := q.findings()
	overtaken := items.overtakenByCommits()
	switch incomplete := items.commits.IncompleteReason(); {
	case items.linked && incomplete != "": // after an unread removal an item seems to exist
		return unknown(incomplete)
	case items.linked && overtaken.Count > 0:
		return overtaken.Fail("overtakings")
	case broken.Count > 0:
		return broken.Fail("overtakings")
	case doubtful > 0:
		return unknown(fmt.Sprintf("%d items were taken although older items were taken later, but a take had failed, a session had ended or a fault was near: another client may have claimed the older items", doubtful))
	case q.judged+items.orderChecked < 2:
		return unknown(fmt.Sprintf("%d items were certainly put and taken, but a comparison needs two", q.judged+items.orderChecked))
	case q.late > 0:
		return unknown(fmt.Sprintf("%d takes were called before the oldest departure that is kept for comparison", q.late))
	case !items.linked:
		return pass(items.byCalls()...)
	case q.judged > 0:
		return pass(fmt.Sprintf("items left in the order in which they were put: %d by the servers' commits, and %d, which were delivered before their nodes were removed, by the clients' calls", items.orderChecked, q.judged))
	}
	return pass(fmt.Sprintf("%d items left the queue in the order in which they were put, by the servers' commits", items.orderChecked))
}
