package explain

import "github.com/zkbench/zkbench/report/verdict"

// Promise is what a guarantee promises, for a reader who knows ZooKeeper.
type Promise struct {
	Rule  string // of the safety definitions, "rule 4"
	Words string // the promise
	Harm  string // what comes of it when it is broken
}

var promises = map[string]Promise{
	verdict.ClaimValidity: {"rule 1", "Whoever is granted something has a node in line that exists, that its own session owns, and before which nobody older stands.",
		"The client believes in a grant that is not its own: it ends when another session ends, and nothing tells the client."},
	verdict.MutualExclusion: {"rule 4", "At any moment at most one client believes that it holds the lock, or leads; and nobody goes on believing after it has heard that its session is gone.",
		"Two clients act at once on what the lock was to protect."},
	verdict.Fencing: {"rule 5", "The tokens (czxid of the grant's node) that the protected resource accepts never go down.",
		"A holder of the past overwrites what its successor has written."},
	verdict.FIFO: {"rule 6", "Grants are given in the order in which the servers created the nodes in line.",
		"Some overtake, and others may wait for ever."},
	verdict.NoOrphan: {"rule 7", "A node in line whose session lives belongs to a client that holds, or waits, by it.",
		"Everybody behind the node waits for a grant that nobody uses, until its session ends."},
	verdict.Progress: {"rule 8", "While the ensemble serves and sessions live, somebody who waits is granted, or given an item.",
		"The lock is free, or its holder does not know of it, or items are there, and everybody waits."},
	verdict.NoLoss: {"rule 9", "An item that was put is taken by somebody, or is still in the queue.",
		"The item is gone, and nobody has worked on it."},
	verdict.NoDuplicate: {"rule 9", "An item that was put once is delivered at most once with certainty.",
		"The same work is done twice."},
	verdict.NoPhantom: {"rule 9", "Nobody takes an item that nobody has put.", "Work is done that nobody asked for."},
	verdict.QueueFIFO: {"rule 9", "Items leave in the order in which they were put.",
		"Newer items overtake older ones, which may never be taken."},
	verdict.FanOut: {"rule 11", "A hand-off wakes no more clients than the variant's formula says.",
		"Every release costs the servers and all waiters more the more wait: a herd."},
	verdict.BusyLoop: {"rule 11", "A client that waits, waits for a notification; it does not ask again and again.",
		"Waiting clients keep every member busy."},
	verdict.Succession: {"rule 6", "When a leader leaves, the candidate that joined next is the next leader.",
		"Leadership goes to somebody whom nobody expects."},
}

// PromiseOf returns what the guarantee promises.
func PromiseOf(guarantee string) Promise {
	if p, ok := promises[guarantee]; ok {
		return p
	}
	return Promise{Words: "The guarantee " + guarantee + " holds."}
}
