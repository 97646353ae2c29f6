package recipes

// Cost is what hand-offs cost on the wire, counted over all contenders.
type Cost struct {
	Notifications int64
	Lists         int64 // getChildren requests
	Deletes       int64
	Others        int64 // other requests
	Names         int64 // child names sent in replies to lists
}

// Requests returns the number of requests, of all kinds.
func (c Cost) Requests() int64 { return c.Lists + c.Deletes + c.Others }

// DrainCost returns what it costs until the first k of n contenders have released,
// when all n stood in line before the first release, nobody comes back, and no two
// releases coalesce. It is exact for the lock and the election of this package.
//
// Predecessor. A release deletes one node, on which exactly one waiter has a watch:
// one notification. That waiter lists once to make sure, n-i names at the i-th
// release; only the second in line need not, because it knows that the node before
// it was the only one ahead (awaitPredecessor). The last release wakes nobody:
//
//	notifications = k            (at most n-1)
//	lists         = k-1          (at most n-2)
//	names         = sum over i = 2..k of n-i
//
// Parent. At the i-th release n-i waiters watch the parent; each is notified and
// lists n-i names. The holder of the i-th release has a watch of its own on the
// parent as well, left from the list with which it saw that it was its turn, and
// is notified of its own deletion; except the first holder, which was the lowest
// at its first list, and that list sets no watch (contest.try):
//
//	notifications = sum over i = 1..k of (n-i)  + (k-1)
//	lists         = sum over i = 1..k of (n-i)
//	names         = sum over i = 1..k of (n-i)^2
//
// Who has waited for longer than its session timeout adds a write and a list, with
// which it makes sure of its session (Session.confirmed); these are not counted here.
//
// For the whole drain, k = n: (n-1)(n+2)/2 notifications for parent, n-1 for
// predecessor.
func DrainCost(v Variant, n, k int) Cost {
	if k <= 0 || n <= 0 {
		return Cost{}
	}
	c := Cost{Deletes: int64(k)}
	for i := 1; i <= k; i++ {
		left := int64(n - i) // who still stands in line after the i-th release
		switch {
		case v == Parent:
			c.Notifications += left
			c.Lists += left
			c.Names += left * left
			if i > 1 {
				c.Notifications++
			}
		case left > 0:
			c.Notifications++
			if i > 1 {
				c.Lists++
				c.Names += left
			}
		}
	}
	return c
}
