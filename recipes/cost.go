package recipes

// Cost is the traffic of an operation, over all clients.
type Cost struct {
	Notifications int64
	Lists         int64 // getChildren requests
	Deletes       int64
	Others        int64 // all other requests
}

// Requests returns the number of requests of all types.
func (c Cost) Requests() int64 { return c.Lists + c.Deletes + c.Others }

// Formulas predict a subject's traffic. The guarantee fan-out compares the counted traffic with them.
// Without a formula the traffic is only counted.
type Formulas struct {
	// Drain returns the cost of the first k hand-offs of n contenders. All n wait in line before
	// the first release, no contender joins again, and no two releases coalesce.
	Drain func(n, k int) Cost
	// Deliver returns the cost of k items, each put while all n consumers of a queue wait.
	// Notifications are exact, requests are an upper bound.
	Deliver func(n, k int) Cost
	// Flap returns the notifications that one waiter of n clients causes when it loses its session
	// (leave) and when it joins again with a new one (back). behind is the number of waiters behind
	// it. The others only wait, the holder keeps holding, and all notified waiters watch again
	// before the waiter is back.
	Flap func(n, behind int) (leave, back int64)
	// Text describes the notifications, for reports. The keys are "hand-off", "item" and "flap".
	Text map[string]string
}

// contestFormulas are the exact formulas of lock and election.
//
// A waiter that waited for longer than its session timeout also sends a write and a read, with
// which it confirms its session (contest.confirm). They are not counted here.
var contestFormulas = map[Variant]Formulas{
	Parent: {
		Drain: drainHerd(1),
		Flap:  flapHerd(1),
		Text: map[string]string{
			"hand-off": "(N+2)/2 on average while N contenders drain: at the i-th release N-i contenders wait and are notified, and every holder except the first is notified by its own watch; (N-1)(N+2)/2 in all",
			"flap":     "2N-3: the N-2 other waiters are notified when the node is deleted and again when it is created, and the flapping waiter by its own watch",
		},
	},
	Predecessor: {
		// A release is one transaction, which deletes the node that exactly one waiter watches. That waiter reads the
		// mark of the holder, with the parent's Stat. There are no lists. The last release notifies no waiter.
		Drain: func(n, k int) Cost {
			woken := int64(min(k, max(n-1, 0)))
			return Cost{Notifications: woken, Others: int64(k) + woken}
		},
		Flap: flapPredecessor,
		Text: map[string]string{
			"hand-off": "1: the next in line; N-1 in all while N contenders drain",
			"flap":     "1: the contender right behind; 0 when the last in line flaps",
		},
	},
}

// relisting are the formulas of a lock whose waiters list again before they hold the lock.
var relisting = Formulas{
	Drain: func(n, k int) Cost {
		woken := int64(min(k, n-1))
		return Cost{Notifications: woken, Lists: woken, Deletes: int64(k)}
	},
	Flap: flapPredecessor,
	Text: contestFormulas[Predecessor].Text,
}

// waiting returns how many of n clients wait before the i-th release of a drain. A lock has one permit.
func waiting(n, permits, i int) int64 { return int64(max(n-permits-(i-1), 0)) }

// drainHerd: at the i-th release all w(i) waiters watch the parent. Each is notified and lists. The client that was
// granted last has a watch left, since the list that showed its turn, which fires at the next release. The first
// holders have none: their first list showed their turn, and sets no watch (contest.awaitTurn).
//
// The complete drain of a lock costs (n-1)(n+2)/2 notifications.
func drainHerd(permits int) func(n, k int) Cost {
	return func(n, k int) (c Cost) {
		for i := 1; i <= k; i++ {
			c.Notifications += waiting(n, permits, i)
			c.Lists += waiting(n, permits, i)
			if i > 1 && waiting(n, permits, i-1) > 0 {
				c.Notifications++
			}
			c.Deletes++
		}
		return c
	}
}

// flapHerd: "a short disconnect of one of the followers makes the whole cluster respond". The other
// waiters are notified when the node is deleted, and again when the new one is created. The
// waiter itself has a watch too, which fires on its own node's deletion while its session is being
// closed. The holders have none.
func flapHerd(permits int) func(n, behind int) (leave, back int64) {
	return func(n, _ int) (leave, back int64) {
		leave = waiting(n, permits, 1)
		return leave, max(leave-1, 0)
	}
}

// flapPredecessor: the waiter directly behind watches the node. A new node notifies no client.
func flapPredecessor(n, behind int) (leave, back int64) {
	return min(waiting(n, 1, 1), int64(behind), 1), 0
}

var queueFormulas = map[Variant]Formulas{
	Parent: {
		// Every idle consumer watches the items, so the put notifies all n. The item's deletion notifies none: a
		// consumer sets its watch only after it has seen the queue empty (takeParent), which is after the delete.
		//
		// A notified consumer lists, and finds the item or not. The winner reads and deletes it. A fast loser reads
		// it too, fails to delete it, and lists again. In the end each lists with a watch; the winner and the slow
		// losers list without a watch before that. The other requests are the reads, and the put.
		Deliver: func(n, k int) Cost {
			if n <= 0 || k <= 0 {
				return Cost{}
			}
			all, items := int64(n), int64(k)
			pairs := all * items
			return Cost{Notifications: pairs, Lists: 3 * pairs, Deletes: pairs, Others: pairs + items}
		},
		// Consumers have no nodes, and the items that they watch do not change.
		Flap: func(int, int) (leave, back int64) { return 0, 0 },
		Text: map[string]string{
			"item": "N: each of the N idle consumers watches the items",
			"flap": "0: consumers have no nodes, and the items do not change",
		},
	},
	Predecessor: {
		// Only the head of the line watches the items, so the put notifies it alone. It takes the item and
		// leaves the line in one transaction, which notifies the next in line, which becomes the head.
		//
		// The head lists, reads, and deletes item and ticket in one transaction. The next reads the mark,
		// lists the items, and lists them with a watch. The consumer that took the item joins the line
		// again: it creates a ticket, lists the line, and watches the ticket ahead. A single consumer has
		// no next, and goes from the end of the line to its head without waiting in between.
		Deliver: func(n, k int) Cost {
			items := int64(k)
			switch {
			case n <= 0 || k <= 0:
				return Cost{}
			case n == 1:
				return Cost{Notifications: items, Lists: 4 * items, Others: 4 * items}
			}
			return Cost{Notifications: 2 * items, Lists: 4 * items, Others: 6 * items}
		},
		Flap: flapPredecessor, // the line of tickets is like a lock's, with a head that waits as well
		Text: map[string]string{
			"item": "2: the item notifies the first consumer in line, and the first consumer's departure notifies the next; 1 with a single consumer",
			"flap": "1: the consumer directly behind; 0 when the last one in line leaves and joins again",
		},
	},
}
