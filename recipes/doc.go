// Package recipes has what zkbench tests: ZooKeeper's lock, election and queue, each in
// a parent-watch and a predecessor-watch variant, and the session below them. Other
// implementations join by [Register].
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
//	// should refuse a token lower than one that it has seen.
//
// # What is promised
//
// A grant binds a session, a node and the node's czxid, the fencing token. When the
// connection drops, the grant is suspended: its holder must start nothing new. When the
// same session comes back, the grant is held again, after a check that the node is still
// its own. When the session has ended, the grant is lost. A session ends when the servers
// say so, or by its own clock, once nothing was acknowledged for a whole negotiated
// timeout.
//
// So two holders never believe in the same lock, but for two cases, for which the token
// is there. A holder may be stopped for that long between its check of the grant and its
// next step. Or the member that serves it has lost the others: for up to syncLimit ticks
// it goes on answering pings while the leader lets the session expire. Nobody is granted
// on what such a member says alone: who has waited for longer than a session timeout makes
// a write first. A grant does not learn that somebody deletes its node while it is connected.
//
// An acquire that fails, is cancelled or panics leaves no node in a live session. After a
// lost reply an operation finds out what became of it. Where it cannot, its error is one
// for which [Indeterminate] is true. Nothing is repeated that could happen twice.
//
// The servers must be ZooKeeper 3.4 or later.
//
// # Subjects
//
// zkbench knows an implementation of a recipe as a [Subject]: what it is, what it
// promises, what it should cost, and a function that opens clients. All that passes
// between zkbench and a client is plain data, which a process in another language could
// send over a pipe:
//
//	call      carries                     returns
//	Open      servers, parent, timeout    the session stands, or an error
//	Acquire   -                           Claim: token, session, path, time; or an error
//	Release   -                           the node is gone, or an error
//	Put       item                        it is in, once; or an error
//	Take      -                           item, or an error; both when the outcome is unknown
//	Close     -                           the session has ended
//
// A client gets one call at a time. It sends an [Event] when its grant is suspended,
// restored or lost, at the instant at which it learns that, from any goroutine. A call
// ends soon after its context does. What it leaves behind then is read from the tree.
//
// # How to read the code
//
// contest.go is the one mechanism of lock.go and election.go: stand in line, and win when
// nobody is ahead. enter.go makes a node so that it is never left behind, node.go orders
// names, grant.go is what the winner holds. queue.go stands beside them; its line of
// consumers is a contest too. session.go is one ZooKeeper session, session_calls.go its
// requests; link.go and session_link.go learn what the client library keeps to itself.
package recipes
