package recipes

// contestFormulas are the exact formulas of lock and election.
//
// A waiter that waited for longer than its session timeout also sends a write and a read, with
// which it confirms its session (contest.confirm). They are not counted here.
var contestFormulas = map[Variant]Formulas{
	Parent: {
		Drain: drainParent,
		Flap:  flapParent,
		Text: map[string]string{
			"hand-off": "(N+2)/2 on average while N contenders drain: at the i-th release N-i wait, and every holder but the first has a watch of its own; (N-1)(N+2)/2 in all",
			"flap":     "2N-3: the N-2 other waiters when the node is deleted and again when it is created, and the waiter's own watch",
		},
	},
	Predecessor: {
		Drain: drainMarked,
		Flap:  flapPredecessor,
		Text: map[string]string{
			"hand-off": "1: the next in line; N-1 in all while N contenders drain",
			"flap":     "1: the contender right behind; 0 when the last in line flaps",
		},
	},
}

// plainFormulas are the formulas of a predecessor lock without the mark.
var plainFormulas = Formulas{Drain: drainPredecessor, Flap: flapPredecessor, Text: contestFormulas[Predecessor].Text}

// relisting are the formulas of a lock whose waiters list again before they take the lock.
var relisting = Formulas{
	Drain: func(n, k int) Cost {
		woken := int64(min(k, n-1))
		return Cost{Notifications: woken, Lists: woken, Deletes: int64(k)}
	},
	Flap: flapPredecessor,
	Text: contestFormulas[Predecessor].Text,
}

// drainParent: at the i-th release n-i waiters watch the parent. Each is notified and lists. The
// holder of the i-th release watches the parent as well, since the list that showed its turn, and
// is notified of its own deletion. The first holder is not: it was the lowest at its first list,
// which sets no watch (contest.stand).
//
//	notifications = sum over i = 1..k of (n-i)  + (k-1)
//	lists         = sum over i = 1..k of (n-i)
//
// The whole drain costs (n-1)(n+2)/2 notifications.
func drainParent(n, k int) Cost {
	if n <= 0 || k <= 0 {
		return Cost{}
	}
	woken := int64(k) * int64(2*n-k-1) / 2
	return Cost{Notifications: woken + int64(k-1), Lists: woken, Deletes: int64(k)}
}

// drainMarked: a release is one transaction, which deletes the node that exactly one waiter watches.
// That waiter reads the mark that the holder has left. The second in line need not: it knows that
// the node before it was the only one ahead (contest.awaitPredecessor). There are no lists. The
// last release notifies no waiter.
//
//	notifications = k            (at most n-1)
//	others        = k + (k-1)    (the transactions, and at most n-2 reads)
func drainMarked(n, k int) Cost {
	if n <= 0 || k <= 0 {
		return Cost{}
	}
	woken := int64(min(k, n-1))
	return Cost{Notifications: woken, Others: int64(k) + max(woken-1, 0)}
}

// drainPredecessor, without the mark: a release deletes one node, which exactly one waiter watches.
// That waiter lists once. The second in line need not: it knows that the node before it was the
// only one ahead (contest.awaitPredecessor). The last release notifies no waiter.
//
//	notifications = k            (at most n-1)
//	lists         = k-1          (at most n-2)
func drainPredecessor(n, k int) Cost {
	if n <= 0 || k <= 0 {
		return Cost{}
	}
	woken := int64(min(k, n-1))
	return Cost{Notifications: woken, Lists: max(woken-1, 0), Deletes: int64(k)}
}

// flapParent: "a short disconnect of one of the followers makes the whole cluster respond". The n-2
// other waiters are notified when the node is deleted, and again when the new one is created. The
// waiter itself has a watch too, which fires on its own node's deletion while its session is being
// closed. The holder has none: it was the lowest at its first list, which sets no watch
// (contest.stand).
func flapParent(n, _ int) (leave, back int64) {
	if n < 2 {
		return 0, 0
	}
	return int64(n - 1), int64(n - 2)
}

// flapPredecessor: the waiter directly behind watches the node. A new node notifies no client.
func flapPredecessor(n, behind int) (leave, back int64) {
	if n < 2 {
		return 0, 0
	}
	return int64(min(behind, 1)), 0
}
