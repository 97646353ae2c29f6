package recipes

// Cost is what something costs on the wire, over all clients.
type Cost struct {
	Notifications int64
	Lists         int64 // getChildren requests
	Deletes       int64
	Others        int64 // all other requests
}

// Requests returns the number of requests of all kinds.
func (c Cost) Requests() int64 { return c.Lists + c.Deletes + c.Others }

// Formulas say what a subject costs on the wire. The guarantee fan-out holds the
// subject to them. Where a formula is nil, the cost is counted and not judged.
type Formulas struct {
	// Drain returns the cost of the first k hand-offs of n contenders. All n stand in
	// line before the first release, nobody comes back, and no two releases coalesce.
	Drain func(n, k int) Cost
	// Deliver returns the cost of k items, each put while all n consumers of a queue
	// wait. Notifications are exact, requests are the most that it takes.
	Deliver func(n, k int) Cost
	// Flap returns the notifications that one waiter of n clients causes when it loses
	// its session (leave) and when it stands in line again with a new one (back). behind
	// is how many wait behind it. Nobody else moves, the holder keeps holding, and
	// everybody who was woken watches again before the waiter is back.
	Flap func(n, behind int) (leave, back int64)
	// Text says the notifications in words, for reports. The keys are "hand-off", "item"
	// and "flap".
	Text map[string]string
}
