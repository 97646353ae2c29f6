package queue

import "github.com/zkbench/zkbench/report/verdict/internal/finding"

// The commits are totally ordered: when an item's node is removed, no older item may exist. An older item
// may be overtaken if another consumer has claimed it by a node named after the item's, or had as far as the
// client that takes the newer one certainly knew.
//
// Only an item's first node has a position, among its siblings, and only its removal by the client
// that took the item counts: a put that is withdrawn does not overtake any item. If an item is
// handed over first and removed when the work is done, only the calls show the order of the
// hand-overs (see Sequence). A node whose put has not been recorded yet may not belong to an item: items that
// overtook it are undecided until that is known.

type overtaking struct {
	young, old *Item
	record     int // of the take
}

// leave records the removal of an item's first node.
func (q *Items) leave(i *Item) {
	i.left, q.removed = true, true
	i.folder.Remove(i.place)
	if i.taken > 0 {
		return
	}
	for e := i.folder.Front(); e != nil; e = e.Next() {
		old := e.Value.(*Item)
		if old.createdZxid >= i.createdZxid || i.overtaken != nil && i.overtaken.Put > 0 {
			return
		}
		by := i.removedBy.session
		if old.taken == 0 && !q.claimed(old, by, q.sessions[by].seenZxid, i.removedZxid) {
			i.overtaken = old
		}
	}
}

// checkOvertaking records that an item was taken which has overtaken an older one, unless another client
// removed its node.
func (q *Items) checkOvertaking(i *Item, client, record int) {
	old, remover := i.overtaken, q.clientOf(i.removedBy.session)
	i.overtaken = nil
	if !i.left || i.before > 0 || remover >= 0 && remover != client {
		return
	}
	q.orderChecked++
	switch {
	case old == nil:
	case old.Put > 0:
		q.addOvertakings(1, overtaking{i, old, record})
	default:
		if old.overtakers++; old.overtakers == 1 {
			old.firstOvertaking = &overtaking{i, old, record}
			q.undecided = append(q.undecided, old)
		}
	}
}

func (q *Items) addOvertakings(n int, first overtaking) {
	if q.overtakings += n; len(q.firstOvertakings) < finding.Limit {
		q.firstOvertakings = append(q.firstOvertakings, first)
	}
}

// overtakenByCommits returns the overtakings, once it is known which nodes are items.
func (q *Items) overtakenByCommits() (broken evidence) {
	for _, old := range q.undecided {
		if old.Put > 0 {
			q.addOvertakings(old.overtakers, *old.firstOvertaking)
		}
	}
	for _, f := range q.firstOvertakings {
		young, old := f.young, f.old
		broken.Add([]int{f.record, old.Put},
			"item %q (node %s, created by zxid %#x) was removed at zxid %#x, and taken (record %d), although the older item %q (node %s, created by zxid %#x) was available and unclaimed",
			young.ID, young.path, uint64(young.createdZxid), uint64(young.removedZxid), f.record, old.ID, old.path, uint64(old.createdZxid))
	}
	broken.Count = q.overtakings
	return broken
}
