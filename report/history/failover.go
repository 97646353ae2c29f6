package history

// Kinds of note about faults and what follows them.
const (
	// Failover is one round of a failover: Client was struck, while it held under
	// Token with Session, whose negotiated timeout is Timeout; Text is the cause. Its
	// Counts are instants on the run's clock, in nanoseconds, of which those that were
	// not seen are absent, and what was predicted.
	Failover = "failover"
	// Recovered says that the ensemble is whole again: all members serve, one leads,
	// and a write was seen by each. Text is the fault, Counts has CountMended.
	Recovered = "recovered"
	// Connections counts the connections that members took: CountMade within CountOver.
	Connections = "connections"
)

// Keys of Note.Counts in a Failover.
const (
	CountStruck    = "struck"    // the cause: the call of release or close, or of the fault's injection
	CountHeard     = "heard"     // when the client sent the last thing that the servers are known to have heard
	CountExpired   = "expired"   // the leader no longer listed the session
	CountCommitted = "committed" // the first member had removed the node
	CountWoken     = "woken"     // the notification that woke the next one reached it
	CountGranted   = "granted"   // the next grant returned
	CountResumed   = "resumed"   // the holder learned that it holds still: nothing was passed on
	CountSuspended = "suspended" // the holder learned that it may not
	CountNext      = "next"      // number of the client that was granted next

	CountLeast  = "predicted.least"  // how long it takes at least, from the strike
	CountMost   = "predicted.most"   // and at most
	CountMean   = "predicted.mean"   // and on average over many; absent where no formula says
	CountBudget = "predicted.budget" // 1 where the session must expire first
)

// Keys of Note.Counts in Recovered and Connections.
const (
	CountMended = "mended" // when healing began, ns on the run's clock
	CountMade   = "made"   // connections
	CountOver   = "over"   // in so many ns
)
