package recipes

// Cost is the traffic of an operation, over all clients.
type Cost struct {
	Notifications int64
	Lists         int64 // getChildren requests
	Deletes       int64
	Others        int64 // all other requests
}

// Requests returns the number of requests of all types.
func (c Cost) Requests() int64 { return c.Lists + c.Deletes + c.Others }

// Formulas predict a subject's traffic. The guarantee fan-out compares the subject with them.
// Without a formula, the traffic is counted and not exercised.
type Formulas struct {
	// Drain returns the cost of the first k hand-offs of n contenders. All n wait in line before
	// the first release, none joins again, and no two releases coalesce.
	Drain func(n, k int) Cost
	// Deliver returns the cost of k items, each put while all n consumers of a queue wait.
	// Notifications are exact, requests are an upper bound.
	Deliver func(n, k int) Cost
	// Flap returns the notifications that one waiter of n clients causes when it loses its session
	// (leave) and when it joins again with a new one (back). behind is the number of waiters behind
	// it. The others only wait, the holder keeps holding, and all notified waiters watch again
	// before the waiter is back.
	Flap func(n, behind int) (leave, back int64)
	// Text describes the notifications, for reports. The keys are "hand-off", "item" and "flap".
	Text map[string]string
}
