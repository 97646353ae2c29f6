package verdict

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const QueueFIFO = "queue-fifo"

func init() {
	register(Guarantee{
		Name: QueueFIFO, Rule: 9, Concerns: queues, promised: inOrder,
		Promise: "Items leave in the order in which they were put.",
		Harm:    "Newer items overtake older ones, which may never be taken.",
		Help:    "an item was taken although an older one was there",
		check:   newQueueFIFO,
	})
}

// sequence checks the order in which items leave a queue (rule 9) without commits (itemorder.go) in
// which the items are found: if one put had returned before another was called, its node came
// first. If the later item had been delivered before the take of the earlier one was called, it has
// overtaken.
//
// It keeps the times of the items in the queue, and for the last takes the newest item that had
// left by then.
type sequence struct {
	items  *items
	puts   map[string]putTimes
	early  map[string]earlyTake
	left   []departure // by the time of leaving
	judged int
	late   int // takes too old to compare
	broken evidence
}

type putTimes struct {
	call, back time.Duration
	record     int
}

// earlyTake is a take that was recorded before its put: an item can be delivered before the
// producer has the reply.
type earlyTake struct {
	sample history.Sample
	record int
}

// departure means that no item that had left by the time was put later than this one.
type departure struct {
	at      time.Duration
	put     time.Duration // call of the newest put
	item    string
	records [2]int // of that item's put and take
}

// keepTakes is the number of takes that are kept for takes that were called before them.
const keepTakes = 1 << 14

func newQueueFIFO(in *inputs) checker {
	q := &sequence{items: in.items, puts: map[string]putTimes{}, early: map[string]earlyTake{}}
	c := in.items.commits
	if c == nil {
		return checker{record: q.record, finish: q.finish}
	}
	return checker{
		record: func(n history.Numbered) {
			if !c.linked {
				q.record(n)
			}
		},
		finish: func(end ending) Verdict {
			if !c.linked {
				return q.finish(end)
			}
			return c.order.verdict(c.incomplete())
		},
	}
}

func (q *sequence) record(n history.Numbered) {
	s, ok := n.Record.(*history.Sample)
	switch {
	case !ok || s.Item == "":
	case s.Op == history.Put && s.Outcome == history.OK:
		q.puts[s.Item] = putTimes{s.Call, s.Return, n.N}
		if t, ok := q.early[s.Item]; ok {
			delete(q.early, s.Item)
			q.take(&t.sample, t.record)
		}
	case s.Op == history.Put: // its number of nodes and their times are unknown
		delete(q.puts, s.Item)
		delete(q.early, s.Item)
	case s.Op == history.Take && s.Outcome == history.OK:
		q.take(s, n.N)
	}
}

func (q *sequence) take(s *history.Sample, record int) {
	p, ok := q.puts[s.Item]
	if !ok {
		q.early[s.Item] = earlyTake{*s, record}
		return
	}
	delete(q.puts, s.Item)
	q.judged++
	// The newest item that had left when this take was called.
	i := q.before(s.Call)
	switch {
	case i > 0 && q.left[i-1].put > p.back:
		d := q.left[i-1]
		q.broken.add([]int{p.record, d.records[0], d.records[1], record},
			"item %q was put at %v (record %d) before item %q was (record %d), and yet %q had been taken (record %d) when the take of %q was called, at %v (record %d)",
			s.Item, p.back, p.record, d.item, d.records[0], d.item, d.records[1], s.Item, s.Call, record)
	case i == 0 && len(q.left) == 2*keepTakes:
		q.late++
	}
	q.leave(departure{at: s.Return, put: p.call, item: s.Item, records: [2]int{p.record, record}})
}

// leave records a departure, unless a newer item had left before. It replaces later ones with older
// items.
func (q *sequence) leave(d departure) {
	i := q.before(d.at)
	if i > 0 && q.left[i-1].put > d.put {
		return
	}
	j := i
	for j < len(q.left) && q.left[j].put < d.put {
		j++
	}
	q.left = slices.Replace(q.left, i, j, d)
	if len(q.left) > 2*keepTakes {
		q.left = append(q.left[:0], q.left[keepTakes:]...)
	}
}

// before returns how many left before the time, usually all: the search begins at the end with
// growing steps.
func (q *sequence) before(at time.Duration) int {
	high, low := len(q.left), len(q.left)
	for step := 1; low > 0 && q.left[low-1].at >= at; step *= 2 {
		high, low = low-1, max(0, low-step)
	}
	return low + sort.Search(high-low, func(i int) bool { return q.left[low+i].at >= at })
}

func (q *sequence) finish(ending) Verdict {
	switch {
	case q.broken.count > 0:
		return q.broken.fail("overtakings")
	case q.judged < 2:
		return unknown(fmt.Sprintf("%d items were put and taken with certainty: an order needs two", q.judged))
	case q.late > 0:
		return unknown(fmt.Sprintf("%d takes were called too long ago to compare them with others", q.late))
	}
	return pass(q.items.byCalls()...)
}
