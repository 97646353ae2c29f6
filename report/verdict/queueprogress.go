package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// deliveries judges rule 8 for a queue: while items stand in it, somebody who waits
// takes one. The lab looks at a queue from which nothing is taken any more.
//
//   - Nobody gets on: items are there, and all consumers that wait ask nothing and are
//     told nothing.
//   - The fallback, the time limit: items are there, consumers wait, and nothing was put
//     or taken without a fault for longer than a dead session needs to expire.
type deliveries struct {
	limit  time.Duration
	faults spans
	near   spans         // with the time to recover
	moved  time.Duration // return of the last put or take
	open   queueSight    // the look whose notes are coming in
	taken  int
	calm   int  // takes that returned without a fault near
	empty  bool // the queue ran empty after the last fault
	judged int
	broken evidence
}

// queueSight is one look at a queue.
type queueSight struct {
	items   []string
	records []int // of the first item, and of those who wait
	waiters int
	still   bool // nobody who waits did anything, and nothing came
}

func newDeliveries(h *history.History) *deliveries {
	return &deliveries{limit: patience(h), faults: aftermath(h, 0), near: aftermath(h, patience(h)), open: queueSight{still: true}}
}

func (d *deliveries) record(n history.Numbered) {
	switch {
	case n.Sample != nil && (n.Sample.Op == history.Put || n.Sample.Op == history.Take):
		d.done(n.Sample)
	case n.Note == nil:
	case n.Note.Kind == history.Emptied:
		d.empty = len(d.faults) == 0 || n.Note.At > d.faults[len(d.faults)-1].to
	case n.Note.Kind == history.Item:
		if len(d.open.items) == 0 {
			d.open.records = append(d.open.records, n.N)
		}
		d.open.items = append(d.open.items, n.Note.Path)
	case n.Note.Kind == history.Waiter:
		c := n.Note.Counts
		d.open.waiters++
		d.open.still = d.open.still && c[history.CountMoved] == 0 && c[history.CountFlying] == 0
		d.open.records = append(d.open.records, n.N)
	case n.Note.Kind == history.Looked:
		d.looked(n.Note, n.N)
	}
}

func (d *deliveries) done(s *history.Sample) {
	d.moved = max(d.moved, s.Return)
	if s.Op != history.Take || s.Outcome != history.OK {
		return
	}
	d.taken++
	if !d.near.touches(s.Call, s.Return) {
		d.calm++
	}
}

// looked judges a look.
func (d *deliveries) looked(n *history.Note, record int) {
	l := d.open
	d.open = queueSight{still: true}
	asked := time.Duration(n.Counts[history.CountAsked])
	if n.Text != history.OfQueue || d.faults.touches(asked, n.At) {
		return
	}
	d.judged++
	if len(l.items) == 0 || l.waiters == 0 || d.moved >= n.At {
		return
	}
	free := d.faults.outside(d.moved, n.At)
	switch since := free[len(free)-1].from; {
	case l.still && n.At-asked >= quiet:
		d.broken.add(func() string {
			return fmt.Sprintf("%d items stood in the queue from %v to %v without a fault, the first %s; %d consumers waited for one, asked nothing, and were told nothing (record %d)",
				len(l.items), asked, n.At, l.items[0], l.waiters, record)
		}, append(l.records, record)...)
	case d.limit > 0 && n.At-since > d.limit:
		d.broken.add(func() string {
			return fmt.Sprintf("%d items stood in the queue at %v, the first %s, and nothing was put or taken without a fault for %v, more than the limit of %v, while %d consumers waited (record %d)",
				len(l.items), n.At, l.items[0], n.At-since, d.limit, l.waiters, record)
		}, append(l.records, record)...)
	}
}

func (d *deliveries) finish() Verdict {
	switch {
	case d.broken.count > 0:
		return d.broken.fail("looks at a queue that nobody takes from")
	case d.taken == 0:
		return unknown("nothing was ever taken")
	case d.calm > 0:
		return pass()
	case d.empty:
		return pass("faults were near all the time; afterwards the queue ran empty")
	case d.judged > 0:
		return pass(fmt.Sprintf("faults were near all the time; the lab looked at the queue %d times without, and found nobody stuck", d.judged))
	}
	return unknown("every take met a fault or its aftermath, and the queue was not seen to run empty: progress is judged only without")
}
