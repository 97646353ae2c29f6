package recipes

var queueFormulas = map[Variant]Formulas{
	Parent: {
		Deliver: deliverParent,
		// Consumers have no nodes, and the items that they watch do not change.
		Flap: func(int, int) (leave, back int64) { return 0, 0 },
		Text: map[string]string{
			"item": "N: each of the N idle consumers watches the items",
			"flap": "0: consumers have no nodes, and the items stay as they are",
		},
	},
	Predecessor: {
		Deliver: deliverPredecessor,
		Flap:    flapPredecessor, // the line of tickets is like a lock's, with a head that waits as well
		Text: map[string]string{
			"item": "2: the head of the line by the item, and the next by the head's leaving; 1 with a single consumer",
			"flap": "1: the consumer right behind; 0 when the last in line flaps",
		},
	},
}

// deliverParent: every idle consumer watches the items, so the put notifies all n. The item's
// deletion notifies none: a consumer sets its watch only after it has seen the queue empty
// (takeParent), which is after the delete.
//
//	notifications = n            an item
//
// A notified consumer lists, and finds the item or not. The winner reads and deletes it. A fast
// loser reads it too, fails to delete it, and lists again. In the end each lists with a watch, the
// winner and the slow losers after a list without one.
//
//	lists <= 3n, deletes <= n, others <= n + 1 (the reads, and the put)
func deliverParent(n, k int) Cost {
	if n <= 0 || k <= 0 {
		return Cost{}
	}
	all, items := int64(n), int64(k)
	return Cost{Notifications: all * items, Lists: 3 * all * items, Deletes: all * items, Others: (all + 1) * items}
}

// deliverPredecessor: only the head of the line watches the items, so the put notifies it alone. It
// takes the item and leaves the line in one transaction, which notifies the next in line, which
// becomes the head.
//
//	notifications = 2            an item; 1 with a single consumer, which has no next
//
// The head lists, reads, and deletes item and ticket in one transaction. The next reads the mark
// (unless only one was ahead of it), lists the items, and lists them with a watch. The one that
// took the item joins the line again: it creates a ticket, lists the line, and watches the one
// ahead. A single consumer goes from the end of the line to its head without waiting in between.
//
//	lists <= 4, others <= 6 (others = 4 with a single consumer)
func deliverPredecessor(n, k int) Cost {
	items := int64(k)
	switch {
	case n <= 0 || k <= 0:
		return Cost{}
	case n == 1:
		return Cost{Notifications: items, Lists: 4 * items, Others: 4 * items}
	}
	return Cost{Notifications: 2 * items, Lists: 4 * items, Others: 6 * items}
}
