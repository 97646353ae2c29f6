package wire

// ByOp is a count for each opcode.
type ByOp [len(opcodes)]int64

// Of returns the count for one opcode. Unknown opcodes share the count of Any.
func (b ByOp) Of(op Op) int64 { return b[op.slot()] }

func (b ByOp) Total() int64 {
	var sum int64
	for _, n := range b {
		sum += n
	}
	return sum - b.Of(Ping)
}

type Notifications struct {
	Created, Deleted, Changed, Child int64
	Other                            int64 // removed watches, session events
}

// Total returns the number of notifications of all types.
func (n Notifications) Total() int64 {
	return n.Created + n.Deleted + n.Changed + n.Child + n.Other
}

// Counts is the traffic of one client's connections, or of all clients', from the client's view:
// requests that it sent, replies that reached it. A reply that a [Rule] dropped is not among the
// replies, and its request is Abandoned.
//
// Once a connection's requests are parsed, requests = replies - Unmatched + Abandoned + InFlight.
type Counts struct {
	Replies             int64
	FramesIn, FramesOut int64 // all frames, with handshakes, pings and notifications
	BytesIn, BytesOut   int64
	InFlight            int64 // now: requests without a reply
	Pinging             int64 // now: pings among them

	Requests      ByOp // by opcode, with pings
	Errors        ByOp // replies that carried an error, by the opcode of their request
	Notifications Notifications

	Dials       int64 // calls to Dial
	Refused     int64 // dials that the gate or a hold refused
	Connections int64 // successful dials

	Abandoned   int64 // requests whose reply never came: the connection ended, or a rule dropped it
	Unmatched   int64 // replies to no request that was seen
	ParseErrors int64 // directions of connections that could not be parsed

	Queued int64 // now: bytes sent by the client that the tap keeps back
}

// underWay adds more to the requests in flight.
func (c *Counts) underWay(op Op, more int64) {
	c.InFlight += more
	if op == Ping {
		c.Pinging += more
	}
}

func (c Counts) Sub(before Counts) Counts {
	d := c.plus(before, -1)
	d.InFlight, d.Pinging, d.Queued = c.InFlight, c.Pinging, c.Queued
	return d
}

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

// scalars lists every count that is not by opcode; a test checks that it is complete. It returns an
// array, not a slice, because the counts of thousands of clients are added up often, and must not
// allocate.
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
