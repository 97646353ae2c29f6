// Package recipes is what is tested: ZooKeeper's lock, election and queue, each in a
// parent-watch and a predecessor-watch variant, and the session that they stand on.
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
//	// Print, for as long as grant.State() is Held, and hand grant.Token to the
//	// printer: it should refuse a token lower than one that it has seen.
//
// # How to read it
//
// session.go is one ZooKeeper session and never another one; link.go and
// session_link.go are how it learns what the client library does not tell;
// session_calls.go are its requests. node.go orders names, enter.go makes a node so
// that it is never left behind, and contest.go is the one mechanism of lock.go and
// election.go: stand in line, and win when nobody is ahead. grant.go is what the
// winner holds. queue.go stands beside them; its line of consumers is a contest too.
// cost.go says what hand-offs cost on the wire.
//
// # What is promised
//
// A grant binds a session, a node and the node's czxid, the fencing token. When the
// connection drops it is suspended: its holder must start nothing new. When the same
// session comes back it is resumed, after a look whether the node is still its own.
// When the session has ended, it is lost: by the servers' word, or by the session's
// own clock once nothing was acknowledged for a whole negotiated timeout. So two
// holders never believe in the same lock, but for two cases, for which the token is
// there. One of them is stopped for that long between looking at its grant and acting
// on it. Or the member that serves it has lost the others: it goes on answering pings,
// for up to syncLimit ticks, while the leader lets the session expire. (Nobody is let in
// on such a member's word: who has waited for longer than a session timeout makes a
// write first.) A grant does not learn that somebody deletes its node under a standing
// connection.
//
// An acquire that fails, is cancelled or panics leaves no node in a live session. An
// operation whose reply is lost is looked up, and where that cannot tell, the error
// is one for which [Indeterminate] is true. Nothing is repeated that could happen twice.
//
// The servers must be ZooKeeper 3.4 or later.
//
// # Subjects: the boundary
//
// The lab sees an implementation of a recipe, ours or another's, as a [Subject]: a
// name, and a function that opens clients. All that passes between the lab and a
// client is plain data, so that it can be spoken over a pipe to a process in another
// language just as well:
//
//	lab to client   carries                         client to lab
//	Open            servers, parent, timeout        session stands, or an error
//	Acquire         -                               Claim: token, session, path, time; or an error
//	Release         -                               done (the node is gone), or an error
//	Put             item                            done (it is in, once), or an error
//	Take            -                               item, or an error; both when the outcome is unknown
//	Close           -                               done
//	                                                Event: suspended, restored or lost; token, time
//
// One call at a time is made to a client. Events come at any moment, at the very
// instant at which the client learns, from any goroutine. Times are instants on the
// machine's monotonic clock; zero stands for the moment of the call. A call ends
// soon after its context does: whatever it leaves behind then, the lab finds out by
// looking at the tree, not by asking.
package recipes
