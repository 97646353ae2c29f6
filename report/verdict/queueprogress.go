package verdict

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict/internal/queue"
)

// deliveries checks [Progress] of a queue: while there are items, a waiting consumer takes one.
//
//   - No progress: a snapshot of the queue shows items, and nothing passes on the
//     connections of all waiting consumers.
//   - The time limit: there is an item, a consumer waits, and nothing is taken without a
//     fault for longer than a dead session needs to expire. That there is an item is known
//     because it is taken later, or from a snapshot, or from the commits.
//
// Successive takes without a result are one wait, as acquires are. A phase in which items were put
// and none was taken is unknown, and so is a phase that ended after longer than half the limit without
// a take and without a fault near, or the whole limit with one.
type deliveries struct {
	limit         time.Duration
	faults        facts.Spans
	near          facts.Spans   // with the time to recover
	lastOperation time.Duration // return of the last put or take
	lastTake      time.Duration // return of the last take
	trying        tries         // takes without a result
	late          []lateItem
	operations    int // puts and takes
	snapshots     int
	items         *queue.Items
	phases        *phases
	broken        evidence
	slow          evidence // findings by the clock alone

	ifRemoved, slowIfRemoved evidence // of items that takes of unknown outcome may have taken, if nodes are kept
}

// lateItem is an item that had been put when a phase was over, and for which a consumer waited.
type lateItem struct {
	*queue.Item
	from   time.Duration
	wait   *history.Waiting
	record int
}

func newDeliveries(in *inputs, p *phases) *deliveries {
	h := in.history
	return &deliveries{limit: facts.MaxDetection(h), faults: facts.FaultWindows(h, 0), near: facts.FaultWindows(h, facts.MaxDetection(h)), trying: tries{}, items: in.items, phases: p}
}

func (d *deliveries) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Sample:
		switch r.Op {
		case history.Put:
			d.operations++
			d.lastOperation = max(d.lastOperation, r.Return)
			if r.Outcome == history.OK {
				d.phases.named(r.Phase).put = true
			}
		case history.Take:
			d.take(r, n.N)
		}
	case *history.Waiting:
		if r.Op == history.Take {
			d.waiting(r, n.N)
		}
	case *history.Snapshot:
		if r.Queue && !d.faults.Touches(r.Asked, r.At) {
			d.snapshot(r, n.N)
		}
	}
}

func (d *deliveries) take(s *history.Sample, record int) {
	d.operations++
	d.lastOperation = max(d.lastOperation, s.Return)
	from := d.trying.since(s.Client, s.Call)
	ph := d.phases.named(s.Phase)
	ph.tried++
	if s.Outcome != history.OK {
		d.trying[s.Client] = wait{client: s.Client, from: from, to: s.Return, record: record}
		return
	}
	delete(d.trying, s.Client)
	ph.done++
	ph.doneFaultFree = ph.doneFaultFree || !d.near.Touches(s.Call, s.Return)
	if from = max(from, d.lastTake); d.limit > 0 && s.Return-from > d.limit {
		d.checkWait(s, from, record)
	}
	d.lastTake = max(d.lastTake, s.Return)
}

// checkWait checks a take for which its client has waited since from, while nothing was taken.
func (d *deliveries) checkWait(s *history.Sample, from time.Duration, record int) {
	i := d.items.Available(s.Item)
	if i == nil {
		return // unknown since when the item existed
	}
	if free, long := d.free(max(from, i.PutAt), s.Return); long {
		d.slow.Add([]int{i.Put, record}, "item %q was put (record %d), but from %v to %v, without a fault nearby, nothing was taken for %v, more than the limit of %v, while client %d waited (record %d)",
			s.Item, i.Put, free.From, free.To, free.To-free.From, d.limit, s.Client, record)
	}
}

// free returns the longest part of a time without a fault near, and whether it exceeds the limit.
func (d *deliveries) free(from, to time.Duration) (longest facts.Span, long bool) {
	for _, s := range d.near.Gaps(from, to) {
		if s.To-s.From > longest.To-longest.From {
			longest = s
		}
	}
	return longest, d.limit > 0 && longest.To-longest.From > d.limit
}

// waiting keeps the oldest item in the queue when a phase ends while a consumer waits. Whether it is
// taken is known only at the end of the history.
func (d *deliveries) waiting(w *history.Waiting, record int) {
	d.operations++
	d.phases.named(w.Phase).tried++
	from := max(d.trying.since(w.Client, w.Call), d.lastTake)
	if d.limit == 0 || w.At-from <= d.limit/2 {
		return
	}
	if oldest := d.items.Oldest(); oldest != nil {
		d.late = append(d.late, lateItem{Item: oldest, from: max(from, oldest.PutAt), wait: w, record: record})
	}
}

// checkLate checks an item that existed while a consumer waited until the phase was over.
func (d *deliveries) checkLate(l lateItem) {
	ph := d.phases.named(l.wait.Phase)
	if free, long := d.free(l.from, l.wait.At); long {
		d.slow.Add([]int{l.Put, l.record}, "item %q was put (record %d) and was available, but from %v to %v, without a fault, nothing was taken for %v, more than the limit of %v, while client %d waited (record %d)",
			l.ID, l.Put, free.From, free.To, free.To-free.From, d.limit, l.wait.Client, l.record)
	} else if idle := l.wait.At - l.from; idle > d.limit {
		ph.idleAtEnd = max(ph.idleAtEnd, idle)
	} else if end, calm := d.near.LastGap(facts.Span{From: l.from, To: l.wait.At}); calm && end.To-end.From > d.limit/2 {
		ph.idleFaultFree = max(ph.idleFaultFree, end.To-end.From)
	}
}

func (d *deliveries) finish(end ending, late []string) Verdict {
	keepsNodes := d.items.KeepsNodes()
	if end.truncated || keepsNodes && d.items.UnnamedTakes() > 0 {
		d.late = nil // the taken items are unknown
	}
	if !keepsNodes {
		d.broken.Merge(&d.ifRemoved)
		d.slow.Merge(&d.slowIfRemoved)
	}
	for _, l := range d.late {
		if d.items.Remains(l.Item) {
			d.checkLate(l)
		}
	}
	if v, found := passedOver(&d.broken, &d.slow, late, "periods in which no client takes an item"); found {
		return v
	}
	for _, ph := range d.phases.all {
		ph.held = !ph.put // there was nothing to take
	}
	return d.phases.verdict("taken", d.limit, d.snapshots)
}

func (d *deliveries) snapshot(l *history.Snapshot, record int) {
	d.snapshots++
	items := slices.DeleteFunc(slices.Clone(l.Items), d.items.HandedOut)
	if len(items) == 0 || len(l.Waiters) == 0 || d.lastOperation >= l.At {
		return
	}
	idle := !slices.ContainsFunc(l.Waiters, func(w history.Waiter) bool { return !asleep(w) })
	free := d.faults.Gaps(d.lastOperation, l.At)
	broken, slow := &d.broken, &d.slow
	if len(items) <= d.items.UnnamedTakes() {
		broken, slow = &d.ifRemoved, &d.slowIfRemoved
	}
	switch since := free[len(free)-1].From; {
	case idle && l.At-l.Asked >= quiet:
		broken.Add([]int{record},
			"%s in the queue from %v to %v without a fault, the first %s; %s waited, and their connections were idle (record %d)",
			units.Plural(len(items), "item"), l.Asked, l.At, items[0].Path, units.Plural(len(l.Waiters), "consumer"), record)
	case d.limit > 0 && l.At-since > d.limit:
		slow.Add([]int{record},
			"%s in the queue at %v, the first %s, and without a fault nothing was put or taken for %v, more than the limit of %v, while %s waited (record %d)",
			units.Plural(len(items), "item"), l.At, items[0].Path, l.At-since, d.limit, units.Plural(len(l.Waiters), "consumer"), record)
	}
}
