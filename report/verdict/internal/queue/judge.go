package queue

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// available reports whether the item certainly was put, and not taken yet.
func (i *Item) available() bool { return i.Put > 0 && !i.putUncertain && i.taken == 0 }

// Available returns the item that certainly was put, and not taken yet; nil if there is none with that ID, or
// its put is not recorded.
func (q *Items) Available(id string) *Item {
	if i := q.open[id]; i != nil && i.available() {
		return i
	}
	return nil
}

// Oldest returns the item that was put first of those that are certainly in the queue, or nil.
func (q *Items) Oldest() (oldest *Item) {
	for _, i := range q.open {
		if i.available() && !i.maybeTaken && (oldest == nil || i.PutAt < oldest.PutAt) {
			oldest = i
		}
	}
	return oldest
}

// Remains reports whether the item is in the queue, or a client should have handed it over.
func (q *Items) Remains(i *Item) bool {
	return i.existing > 0 && (!i.moved || q.movedUndelivered(i))
}

// HandedOut reports whether an item was handed out and still exists: at-least-once queues may
// remove it later, and some keep completed items in another folder. Without commits the two cannot
// be distinguished.
func (q *Items) HandedOut(x history.SnapshotItem) bool {
	if q.commits == nil {
		return q.delivery == AtLeastOnce
	}
	i := q.nodes[x.Path]
	if i == nil || i.Put == 0 { // not an item if items are recognizable, such as a claim of a consumer
		return q.linked
	}
	return i.taken > 0 || i.maybeTaken || i.moved && !q.movedUndelivered(i)
}

// KeepsNodes reports whether the queue keeps the nodes of taken items: then an existing item may have been
// taken by a take of unknown outcome.
func (q *Items) KeepsNodes() bool { return q.linked && q.takes > 0 && !q.removed }

// UnnamedTakes returns the number of takes of unknown outcome without an item.
func (q *Items) UnnamedTakes() (n int) {
	for _, takes := range q.unnamed {
		n += takes
	}
	return n
}

// resolve distinguishes items that were taken again from items that were never put. Only its first call has an
// effect.
func (q *Items) resolve() {
	neverPut := map[digest]*Item{}
	for id, i := range q.open {
		if i.Put == 0 {
			neverPut[q.digest(id)] = i
		}
	}
	last := map[digest]int{}
	for k, part := range q.taken {
		clear(last)
		for _, t := range part {
			if before := last[t.digest]; before > 0 {
				q.again = append(q.again, [2]int{before, t.record})
			}
			last[t.digest] = t.record
			if i := neverPut[t.digest]; i != nil {
				q.takenBefore(i, t.record)
			}
		}
		q.taken[k] = nil
	}
}

// takenBefore records an earlier take of an item that was taken or created again.
func (q *Items) takenBefore(i *Item, record int) {
	switch {
	case i.taken == 0:
		i.taken = record
	case i.before == 0 && i.taken != record:
		i.before = record
	}
	i.Put, i.maybeTaken = unknownRecord, true
	i.recreated = i.folder != nil && i.folder.linked
	i.nodeCount++ // the node of the first take
}

// unknownRecord replaces the record of the put of an item that was taken once, which is not needed.
const unknownRecord = 1

// sorted returns the tracked items by ID.
func (q *Items) sorted() []*Item {
	return slices.SortedFunc(maps.Values(q.open), func(a, b *Item) int { return strings.Compare(a.ID, b.ID) })
}

// byCalls returns a reason if items are checked by the calls alone although there are commits, or nil.
func (q *Items) byCalls() []string {
	if q.commits == nil || q.linked {
		return nil
	}
	return []string{"no item has a node: only the clients' calls were evaluated"}
}

// verdict returns a failure if there is evidence; what names the findings, in the plural.
func (q *Items) verdict(broken evidence, what string) Verdict {
	switch {
	case broken.Count > 0:
		return broken.Fail(what)
	case q.takes == 0:
		return unknown("no item was ever taken")
	}
	return pass(q.byCalls()...)
}

// NoDuplicate checks for items that were delivered twice, or stored twice by one put, so that the
// second copy would be delivered too. Without commits an item whose put had no reply may be delivered
// more than once: there may be several copies of it.
func (q *Items) NoDuplicate(truncated bool) Verdict {
	q.resolve()
	var broken evidence
	decided := q.linked && q.commits.IncompleteReason() == ""
	for _, i := range q.sorted() {
		switch {
		case i.putUncertain && !decided, i.Put == 0 && truncated:
		case i.before > 0:
			broken.Add([]int{i.before, i.taken}, "item %q was delivered twice, records %d and %d", i.ID, i.before, i.taken)
		case i.secondNode > 0 && i.Put > 0:
			broken.Add([]int{i.Put}, "item %q was put once (record %d), but its producer created two nodes for it, at zxid %#x and %#x",
				i.ID, i.Put, uint64(i.createdZxid), uint64(i.secondNode))
		case i.recreated:
			broken.Add([]int{i.taken}, "item %q was in the queue again after its delivery: a node with its data was created at zxid %#x",
				i.ID, uint64(max(i.recreatedZxid, i.createdZxid)))
		}
	}
	slices.SortFunc(q.again, func(a, b [2]int) int { return a[1] - b[1] })
	for _, at := range q.again {
		broken.Add(at[:], "one item was put again and delivered twice, records %d and %d", at[0], at[1])
	}
	if broken.Count > 0 && q.delivery == AtLeastOnce {
		return pass(fmt.Sprintf("%d items were delivered or stored twice, which %s delivery allows", broken.Count, q.delivery))
	}
	return q.verdict(broken, "duplicates")
}

// NoPhantom allows a take of an item whose put has not returned, if the commits show its node.
func (q *Items) NoPhantom(truncated bool) Verdict {
	q.resolve()
	var broken evidence
	for _, i := range q.sorted() {
		switch {
		case i.taken == 0 || i.Put > 0:
		case i.failed:
			broken.Add([]int{i.taken}, "item %q was taken (record %d) but never put: its put had failed", i.ID, i.taken)
		case i.nodeCount == 0 && !truncated:
			broken.Add([]int{i.taken}, "item %q was taken (record %d) but never put", i.ID, i.taken)
		}
	}
	return q.verdict(broken, "phantoms")
}

// NoLoss checks by the commits if they show the items.
func (q *Items) NoLoss(truncated bool) Verdict {
	q.resolve()
	if truncated {
		return notJudged("it is unknown which items were taken")
	}
	if q.linked {
		return q.lossByCommits()
	}
	return q.lossByCalls()
}

// lossByCommits checks every item whose nodes are all removed and that no take has handed over, and
// every item that was put successfully and never had a node. Items that exist at the end are not
// lost. Losses that the client could not prevent are excused (see excused).
func (q *Items) lossByCommits() Verdict {
	if why := q.commits.IncompleteReason(); why != "" {
		return unknown(why)
	}
	var broken evidence
	excused, standing, movedAside := 0, 0, 0
	var unrecognized []*Item // not taken, and possibly in nodes that do not show them
	hidden := false          // some items cannot be recognized by their nodes' data
	for _, i := range q.open {
		hidden = hidden || i.taken > 0 && i.nodeCount == 0
	}
	for _, i := range q.sorted() {
		switch {
		case i.taken > 0 || i.maybeTaken || i.Put == 0:
		case q.movedUndelivered(i):
			movedAside++
		case i.existing > 0:
			standing++
		case i.nodeCount == 0 && i.putUncertain:
		case i.nodeCount == 0 && hidden:
			unrecognized = append(unrecognized, i)
		case i.nodeCount == 0:
			broken.Add([]int{i.Put}, "item %q was put successfully (record %d), but no transaction ever added it to the queue", i.ID, i.Put)
		case i.putUncertain && q.clientOf(i.removedBy.session) == i.producer: // withdrawn
		case q.excused(i):
			excused++
		default:
			broken.Add([]int{i.Put}, "item %q was put (record %d) and removed by client %d at zxid %#x (node %s, session %#x), but no take returned it",
				i.ID, i.Put, q.clientOf(i.removedBy.session), uint64(i.removedZxid), i.path, uint64(i.removedBy.session))
		}
	}
	if len(unrecognized) > 0 && broken.Count == 0 {
		return q.notTaken(unrecognized)
	}
	var notes []string
	if standing > 0 {
		notes = append(notes, fmt.Sprintf("%s still in the queue at the end", units.Plural(standing, "item")))
	}
	if excused > 0 {
		notes = append(notes, fmt.Sprintf("%s removed by a client that was killed, or that never received the reply to the removal", units.Plural(excused, "item")))
	}
	switch {
	case broken.Count > 0:
		return broken.Fail("items")
	case q.puts == 0:
		return unknown("no item was ever put")
	case movedAside > 0:
		return unknown(append(notes, fmt.Sprintf("%s in another folder at the end and not delivered: it is unknown whether a delivery would have followed", units.Plural(movedAside, "item")))...)
	}
	return pass(notes...)
}

// excused reports whether the loss of an item does not break the promise: the client that removed
// it was killed, or its session ended, before it received any reply after the removal. A queue that
// promises at-most-once may also lose an item with the reply. A queue that promises at-least-once must
// not remove an item before it hands it out, so nothing excuses it.
func (q *Items) excused(i *Item) bool {
	by := q.sessions[i.removedBy.session]
	switch {
	case by == nil || q.delivery == AtLeastOnce:
		return false
	case q.couldNotDeliver(i):
		return true
	case q.delivery != AtMostOnce:
		return false
	case q.lost[i.removedBy]:
		return true
	}
	q.unnamed[by.client]-- // it may have been that take
	return q.unnamed[by.client] >= 0
}

// lossByCalls needs a queue that was emptied. As many items as takes without a reply may be lost
// with them.
func (q *Items) lossByCalls() Verdict {
	var missing []*Item
	for _, i := range q.sorted() {
		if i.Put > 0 && i.taken == 0 && !i.maybeTaken && !i.putUncertain {
			missing = append(missing, i)
		}
	}
	switch {
	case q.puts == 0 || q.takes == 0:
		return unknown("no items were ever put and taken")
	case len(missing) == 0:
		return pass(q.byCalls()...)
	}
	return q.notTaken(missing)
}

// notTaken checks items that were put and that no take handed over, without commits that show them.
func (q *Items) notTaken(missing []*Item) Verdict {
	unnamed := q.UnnamedTakes()
	switch {
	case q.emptied < q.lastPut:
		return unknown(fmt.Sprintf("%d items were put and not taken, but the queue was not drained: they may still be in it", len(missing)))
	case len(missing) <= unnamed:
		return unknown(fmt.Sprintf("%d items were put and not taken, but %d takes had no reply and may have taken them", len(missing), unnamed))
	}
	var broken evidence
	for _, i := range missing {
		broken.Add([]int{i.Put}, "item %q was put (record %d) and not taken, although the queue was drained", i.ID, i.Put)
	}
	v := broken.Fail("items")
	if unnamed > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%d takes without a reply can explain at most as many of the %d missing items", unnamed, len(missing)))
	}
	return v
}
