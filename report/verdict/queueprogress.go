package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// deliveries judges rule 8 for a queue: while items stand in it, somebody who waits
// takes one. The observer takes snapshots of a queue from which nothing is taken any more.
//
//   - Nobody gets on: items are there, and nothing passes on the connections of all
//     consumers that wait.
//   - The time limit: items are there, consumers wait, and nothing was put
//     or taken without a fault for longer than a dead session needs to expire.
type deliveries struct {
	limit      time.Duration
	faults     Spans
	near       Spans         // with the time to recover
	moved      time.Duration // return of the last put or take
	taken      int
	operations int  // puts and takes
	calm       int  // takes that returned without a fault near
	empty      bool // the queue ran empty after the last fault
	judged     int
	broken     evidence
}

func newDeliveries(h *history.History) *deliveries {
	return &deliveries{limit: Patience(h), faults: Aftermath(h, 0), near: Aftermath(h, Patience(h))}
}

func (d *deliveries) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Sample:
		if r.Op == history.Put || r.Op == history.Take {
			d.done(r)
		}
	case *history.Emptied:
		d.empty = len(d.faults) == 0 || r.At > d.faults[len(d.faults)-1].to
	case *history.Snapshot:
		if r.Queue && !d.faults.Touches(r.Asked, r.At) {
			d.snapshot(r, n.N)
		}
	}
}

func (d *deliveries) done(s *history.Sample) {
	d.operations++
	d.moved = max(d.moved, s.Return)
	if s.Op != history.Take || s.Outcome != history.OK {
		return
	}
	d.taken++
	if !d.near.Touches(s.Call, s.Return) {
		d.calm++
	}
}

func (d *deliveries) snapshot(l *history.Snapshot, record int) {
	d.judged++
	if len(l.Items) == 0 || len(l.Waiters) == 0 || d.moved >= l.At {
		return
	}
	still := !slices.ContainsFunc(l.Waiters, func(w history.Waiter) bool { return !asleep(w) })
	free := d.faults.outside(d.moved, l.At)
	switch since := free[len(free)-1].from; {
	case still && l.At-l.Asked >= quiet:
		d.broken.add([]int{record},
			"%d items stood in the queue from %v to %v without a fault, the first %s; %d consumers waited for one, and nothing passed on their connections (record %d)",
			len(l.Items), l.Asked, l.At, l.Items[0].Path, len(l.Waiters), record)
	case d.limit > 0 && l.At-since > d.limit:
		d.broken.add([]int{record},
			"%d items stood in the queue at %v, the first %s, and nothing was put or taken without a fault for %v, more than the limit of %v, while %d consumers waited (record %d)",
			len(l.Items), l.At, l.Items[0].Path, l.At-since, d.limit, len(l.Waiters), record)
	}
}

func (d *deliveries) finish() Verdict {
	switch {
	case d.broken.count > 0:
		return d.broken.fail("snapshots of a queue that nobody takes from")
	case d.taken == 0:
		return unknown("nothing was ever taken")
	case d.calm > 0:
		return pass()
	case d.empty:
		return pass("faults were near all the time; afterwards the queue ran empty")
	case d.judged > 0:
		return pass(fmt.Sprintf("faults were near all the time; %d snapshots of the queue were taken without, and nobody was stuck", d.judged))
	}
	return unknown("every take met a fault or its aftermath, and the queue was not seen to run empty: progress is judged only without")
}
