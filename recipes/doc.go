// Package recipes implements ZooKeeper's lock, election, queue, read-write lock, semaphore and barrier, each
// in a parent-watch and a predecessor-watch variant, and their session. [Register] adds implementations.
//
//	s, err := recipes.Open(ctx, servers, recipes.Options{Timeout: 10 * time.Second})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	grant, err := recipes.NewLock(s, "/locks/printer", recipes.Predecessor).Acquire(ctx)
//	if err != nil {
//		return err
//	}
//	defer grant.Release(ctx)
//	// Print while grant.State() is Held, and send grant.Token along: the printer
//	// should reject a token lower than an earlier one.
//
// # Guarantees
//
// A grant binds a session, a node and the node's czxid, the fencing token. When the connection
// drops, the grant is suspended: its holder must start no new effects. When the same session
// reconnects, the grant is held again, after a check that the session still owns the node. When the
// session has ended, the grant is lost. A session ends when the servers report that, or, by the client's
// clock, once no request was acknowledged for a whole negotiated timeout.
//
// So two clients never believe at the same time that they hold a lock, except in two cases, for which the
// token exists. A holder may be paused for longer than the timeout between its check of the grant and its
// next step. Or its member may be isolated from the other members: for up to syncLimit ticks it still
// answers pings while the leader expires the session. No waiter is granted on such a member's reads alone:
// a waiter that has waited for longer than a session timeout makes a write first. A connected grant does
// not detect that another client deletes its node.
//
// An acquire that fails, is cancelled or panics leaves no node in a live session. After a lost
// reply an operation determines the outcome. If it cannot, [Indeterminate] is true for its error. No
// request is repeated that could take effect twice.
//
// The servers must be ZooKeeper 3.4 or later.
//
// # Subjects
//
// zkbench knows an implementation of a recipe as a [Subject]: its properties, promises and expected
// costs, and a function that opens clients. A process in another language can be one (docs/PROTOCOL.md).
//
// A client receives one call at a time. It sends an [Event] at the instant at which it is notified that its
// grant is suspended, restored or lost, from any goroutine. A call returns soon after its context has
// ended; zkbench then reads from the tree which nodes it has left.
//
// To read the source, begin with contest.go, the mechanism of all recipes but the queue.
package recipes
