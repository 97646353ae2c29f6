package recipes

// TicketNode is the child of a queue under which its consumers stand in line, where
// each waits for the one before (Predecessor).
const TicketNode = ticketNode

// QueueCost returns what it costs to put k items into a queue, one at a time, and
// to have each taken by one of c idle consumers who then wait again: an item is put
// only when all c are idle. Notifications are exact for the queue of this package;
// the other counts are what it takes at most, because they depend on who is faster.
//
// Parent. Every idle consumer watches the items, so the put wakes all c. Nobody is
// woken when the item is deleted: a consumer sets its watch only after it has seen
// the queue empty (takeParent), and that is after the delete:
//
//	notifications = c            an item
//
// Whoever was woken lists, and finds the item or not. The winner reads and deletes
// it. A loser that was quick reads it too, fails to delete it, and lists again. In
// the end each lists with a watch, the winner and the slow losers after a list
// without one:
//
//	lists <= 3c, deletes <= c, others <= c + 1 (the reads, and the put)
//
// Predecessor. Only the head of the line watches the items: the put wakes it alone.
// It takes the item and leaves the line in one transaction, which wakes the next in
// line, who becomes the head:
//
//	notifications = 2            an item; 1 with a single consumer, who has no next
//
// The head lists, reads, and deletes item and ticket together. The next lists the
// line (unless only one was ahead of it), lists the items, and lists them with a
// watch. The one that took the item stands in line again: it creates a ticket, lists
// the line, and watches the one ahead. A single consumer goes from the end of the line
// to its head without waiting in between:
//
//	lists <= 5, deletes = 1, others = 4 (3 with a single consumer)
func QueueCost(v Variant, c, k int) Cost {
	if c <= 0 || k <= 0 {
		return Cost{}
	}
	n, items := int64(c), int64(k)
	switch {
	case v == Parent:
		return Cost{Notifications: n * items, Lists: 3 * n * items, Deletes: n * items, Others: (n + 1) * items}
	case n == 1:
		return Cost{Notifications: items, Lists: 4 * items, Deletes: items, Others: 3 * items}
	}
	return Cost{Notifications: 2 * items, Lists: 5 * items, Deletes: items, Others: 4 * items}
}

// FlapCost returns how many notifications it causes that one waiter of n contenders
// (for a queue: of n idle consumers) loses its session, so that its node goes (leave),
// and that it comes back at the end of the line with a new one (back). behind is how
// many stood in line behind it. Nobody else moves, the holder keeps holding, and
// everybody who was woken watches again before the waiter is back.
//
// Parent: "a short disconnect of one of the followers makes the whole cluster
// respond". The n-2 others who wait are woken when the node goes, and once more when
// the new one comes. The waiter itself has a watch too, which the end of its own node
// sets off while its session is being closed. The holder has none: it was the lowest
// at its first list, which sets no watch (contest.try):
//
//	lock, election: leave = n-1, back = n-2
//
// Predecessor: whoever stood right behind it watches its node, nobody watches for
// new ones:
//
//	lock, election: leave = 1, or 0 for the last in line; back = 0
//
// Queue. With parent watches consumers have no nodes, and the items that they watch
// stay as they are: 0. With predecessor watches the line of tickets is like that of
// a lock, with a head that waits as well: as for lock and election.
func FlapCost(recipe string, v Variant, n, behind int) (leave, back int64) {
	switch {
	case recipe == "queue" && v == Parent, n < 2:
		return 0, 0
	case v == Parent:
		return int64(n - 1), int64(n - 2)
	}
	return int64(min(behind, 1)), 0
}
