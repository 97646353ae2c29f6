package wire

// ByOp is a count for each opcode.
type ByOp [len(opcodes)]int64

// Of is the count for one opcode. Opcodes that the package does not know share
// one count, which is that of Any.
func (b ByOp) Of(op Op) int64 { return b[op.slot()] }

// Total is the count over all opcodes but pings: pings are sent by the clock,
// not by a recipe, and would blur what a recipe costs.
func (b ByOp) Total() int64 {
	var sum int64
	for _, n := range b {
		sum += n
	}
	return sum - b.Of(Ping)
}

// Notifications are the watch events that were delivered, by type.
type Notifications struct {
	Created, Deleted, Changed, Child int64
	Other                            int64 // watches removed, session events
}

// Total is the number of notifications of all types.
func (n Notifications) Total() int64 {
	return n.Created + n.Deleted + n.Changed + n.Child + n.Other
}

// Counts is what went over one client's connections, or over all clients', as
// the client saw it: requests that it sent, replies that reached it. A
// reply that a [Rule] swallowed is not among the replies, and its request is
// Abandoned.
//
// Once a connection's requests are parsed,
// requests = replies - Unmatched + Abandoned + InFlight.
type Counts struct {
	Replies             int64
	FramesIn, FramesOut int64 // all frames: handshakes, pings and notifications too
	BytesIn, BytesOut   int64
	InFlight            int64 // now: requests sent and not answered yet
	Pinging             int64 // now: of these, pings

	Requests      ByOp // by opcode, pings included
	Errors        ByOp // replies that carried an error, by the opcode of their request
	Notifications Notifications

	Dials       int64 // calls to Dial
	Refused     int64 // dials that the gate, or a hold, refused
	Connections int64 // dials that made a connection

	Abandoned   int64 // requests whose reply never came: the connection ended, or a rule swallowed it
	Unmatched   int64 // replies to no request that was seen
	ParseErrors int64 // times that a direction of a connection was given up as unreadable

	Queued int64 // now: bytes that the client has sent and the tap holds back
}

// underWay counts one more request that is under way, or one less.
func (c *Counts) underWay(op Op, more int64) {
	c.InFlight += more
	if op == Ping {
		c.Pinging += more
	}
}

// Sub returns what was counted between before and c. InFlight, Pinging and Queued are
// states, not counts: they stay those of c.
func (c Counts) Sub(before Counts) Counts {
	d := c.plus(before, -1)
	d.InFlight, d.Pinging, d.Queued = c.InFlight, c.Pinging, c.Queued
	return d
}

// Add returns the sum of two clients' counts.
func (c Counts) Add(other Counts) Counts { return c.plus(other, 1) }

func (c Counts) plus(o Counts, sign int64) Counts {
	for i := range c.Requests {
		c.Requests[i] += sign * o.Requests[i]
		c.Errors[i] += sign * o.Errors[i]
	}
	mine, theirs := c.scalars(), o.scalars()
	for i := range mine {
		*mine[i].n += sign * *theirs[i].n
	}
	return c
}

type scalar struct {
	name string
	n    *int64
}

// scalars names every count that is not kept by opcode. Adding a field to
// Counts means adding it here; a test holds that line. It is no slice, because counts of
// thousands of clients are added up again and again, and must leave nothing behind.
func (c *Counts) scalars() [19]scalar {
	n := &c.Notifications
	return [...]scalar{
		{"replies", &c.Replies},
		{"notifications.created", &n.Created}, {"notifications.deleted", &n.Deleted},
		{"notifications.changed", &n.Changed}, {"notifications.child", &n.Child}, {"notifications.other", &n.Other},
		{"frames.in", &c.FramesIn}, {"frames.out", &c.FramesOut}, {"bytes.in", &c.BytesIn}, {"bytes.out", &c.BytesOut},
		{"dials", &c.Dials}, {"dials.refused", &c.Refused}, {"connections", &c.Connections},
		{"abandoned", &c.Abandoned}, {"unmatched", &c.Unmatched}, {"parse.errors", &c.ParseErrors},
		{"inflight", &c.InFlight}, {"pinging", &c.Pinging}, {"queued", &c.Queued},
	}
}
