// Package history is the ordered record of one trial: every operation, every
// fault window, every note, on one monotonic clock. It is written while the
// trial runs and is all that report needs afterwards.
package history

import "time"

// Outcome says how an operation ended.
type Outcome string

// The outcomes. An operation whose reply was lost is Unknown, never Failed.
const (
	OK      Outcome = "ok"
	Failed  Outcome = "failed"  // it certainly had no effect
	Unknown Outcome = "unknown" // it may have had its effect
)

// Names of operations, as Sample.Op.
const (
	Acquire = "acquire" // a lock acquired, or a leadership won by campaigning
	Release = "release" // let go; also resign
	Put     = "put"
	Take    = "take"
	Write   = "write" // to the fenced resource, under a grant
)

// Sample is one operation of one client. Due, Call and Return count from the
// start of the run on its one monotonic clock.
type Sample struct {
	Client  int           `json:"client"`
	Phase   string        `json:"phase,omitempty"`
	Round   int           `json:"round,omitempty"`
	Op      string        `json:"op"`
	Due     time.Duration `json:"due"`    // when it should have been called; latency counts from here
	Call    time.Duration `json:"call"`   // when it was called
	Return  time.Duration `json:"return"` // when it returned
	Outcome Outcome       `json:"outcome"`
	Token   int64         `json:"token,omitempty"`   // czxid of the grant's or item's node
	Session int64         `json:"session,omitempty"` // session id that the grant is bound to
	Path    string        `json:"path,omitempty"`    // of the grant's or item's node
	Item    string        `json:"item,omitempty"`    // queue: identity of the item
	Version int64         `json:"version,omitempty"` // write: version of the resource that the write made
	Err     string        `json:"err,omitempty"`
}

// Window is a fault and the time in which it was in force.
type Window struct {
	Fault  string `json:"fault"`  // "session.close"
	Target string `json:"target"` // "client 17 (holder)", "zk2 (leader)"
	Client int    `json:"client"` // the client that it hit; -1 for members
	// Served are the clients that a member went on serving which was cut off from the
	// others: they could not tell.
	Served []int         `json:"served,omitempty"`
	Start  time.Duration `json:"start"` // the call to Inject
	End    time.Duration `json:"end"`   // healed
	Proof  string        `json:"proof,omitempty"`
	Err    string        `json:"err,omitempty"` // why it had no proven effect; empty when Proof is set
}

// Kinds of note, as Note.Kind.
const (
	PhaseStart = "phase.start" // Text is the phase's name
	PhaseEnd   = "phase.end"
	Opened     = "opened"    // a client has a session: Session, Timeout
	Closed     = "closed"    // the client closed its session
	Suspended  = "suspended" // delivered to the client: connection lost, session unknown
	Resumed    = "resumed"   // delivered: same session, owner checked
	Lost       = "lost"      // delivered: the session, and every grant bound to it, is gone
	Deadline   = "deadline"  // the session's own deadline passed unheard: belief ends as if suspended
	Killed     = "killed"    // the harness killed the client
	Waiting    = "waiting"   // the client stands in line: Path
	Joined     = "joined"    // the harness has seen the client's node in the line: Token, Session, Path
	Leaving    = "leaving"   // the client is made to leave the line now: Token, Text says how; client -1: the drill is over
	Emptied    = "emptied"   // the harness saw the queue empty, after every put that has returned
	Traffic    = "traffic"   // wire counts of a phase whose hand-offs are not counted: Counts
	Fan        = "fan"       // wire counts of one hand-off or phase: Counts
	Servers    = "servers"   // the members' own counters over a phase: Counts
	Watch      = "self"      // the harness about itself: Counts

	// What the lab saw with its own eyes, for the verdicts.

	Expired   = "expired"   // on the wire: the servers' word that Session is gone has reached the client
	Checked   = "checked"   // a look at the node that a client claims, Path: its Token and Session, 0 if it is gone
	Looked    = "looked"    // a look at the contested parent has ended: CountNodes; Text is OfQueue at a queue
	Node      = "node"      // seen in that look: Path, Token, Session; Client if that session is connected, else -1
	Item      = "item"      // seen in that look, at a queue: Path, Token (czxid)
	Waiter    = "waiter"    // seen in that look: Client was in an acquire or a take all the time, and what it waits for
	Committed = "committed" // on the wire: a request whose reply never arrived was carried out: Path, Token (zxid), Text (item)
	Effort    = "effort"    // what one client asked over a phase: CountRequests, ...
)

// OfQueue, as the Text of an Effort or of a Looked, says that the subject is a queue.
const OfQueue = "queue"

// Keys of Note.Counts in the lab's observations.
const (
	CountAsked    = "asked"    // when the look began, ns on the run's clock; it ended at Note.At
	CountNodes    = "nodes"    // how many children there were from its beginning to its end
	CountAhead    = "ahead"    // Checked: ephemeral children that are older than the node
	CountMoved    = "moved"    // Waiter: requests, replies, notifications and connections of the client during the look
	CountFlying   = "inflight" // Waiter: requests without a reply
	CountWatches  = "watches"  // Waiter: watches of its session that a change in the line can fire: on the parent, or on a node of it
	CountElse     = "else"     // Waiter: its other watches, which nothing in the line can fire
	CountRequests = "requests" // Effort
	CountNotified = "notified" // Effort: notifications
	CountConnects = "connects" // Effort: connections made
	CountRefusals = "refusals" // Effort: replies with an error, like no node
	CountCalls    = "calls"    // Effort: operations called
)

// Keys of Note.Counts in notes of kind Watch: what the harness saw of itself. Shares
// are in thousandths. CountLimit before a key is how much of it is allowed; for
// CountLateTicks that is a share of CountTicks.
const (
	CountTicks     = "ticks"
	CountLateTicks = "ticks.late"   // ticks that came more than 10 ms late
	CountLate      = "late.max"     // ns
	CountLost      = "records.lost" // must be 0
	CountBacklog   = "backlog.max"  // records
	CountCPU       = "cpu.own"      // share of all processors that this process used
	CountMachine   = "cpu.machine"  // share that everything used
	CountLimit     = "limit."
)

// Note is something that happened, other than an operation or a fault.
type Note struct {
	At      time.Duration    `json:"at"`
	Kind    string           `json:"kind"`
	Client  int              `json:"client"` // -1: nobody in particular
	Phase   string           `json:"phase,omitempty"`
	Round   int              `json:"round,omitempty"`
	Session int64            `json:"session,omitempty"`
	Token   int64            `json:"token,omitempty"`
	Path    string           `json:"path,omitempty"`
	Timeout time.Duration    `json:"timeout,omitempty"` // negotiated session timeout
	Counts  map[string]int64 `json:"counts,omitempty"`
	Text    string           `json:"text,omitempty"`
}

// Record is one line of a history. Exactly one field is set.
type Record struct {
	Sample *Sample `json:"sample,omitempty"`
	Window *Window `json:"window,omitempty"`
	Note   *Note   `json:"note,omitempty"`
}
