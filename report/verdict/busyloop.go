package verdict

import (
	"github.com/zkbench/zkbench/report/history"
)

// newBusyLoop checks [BusyLoop]: a waiting client waits for a notification. Requests
// without a cause (a call, a notification, a reconnect; for a queue, a reply that another consumer
// was faster) are a loop.
//
// The bounds are wide: a sound recipe needs some six requests per call and two per notification, a
// loop makes hundreds. A polling subject may send a request every 10 ms. Successful writes of data are
// no polls: a holder may keep its node up to date.
func newBusyLoop(in *inputs) checker {
	judged := 0
	var broken evidence
	record := func(n history.Numbered) {
		e, ok := n.Record.(*history.Effort)
		if !ok {
			return
		}
		judged++
		causes := e.Notifications + e.Connections
		if e.Queue {
			causes += e.Refusals
		}
		clients := int64(in.history.Header.Clients) // each may have a node that is read
		allowed := (requestsPerCall+clients)*e.Calls + (requestsPerCause+clients)*causes + requestsForNothing
		perSecond := idleRequestsPerSecond
		if in.history.Header.Variant == Polling {
			perSecond = requestsPerSecond
		}
		allowed += int64(perSecond * (e.At - phaseStart(in.history, e.Phase, e.At)).Seconds())
		if requests := e.Requests - e.Writes; requests > allowed {
			broken.Add([]int{n.N},
				"client %d sent %d requests for %d calls, and only %d notifications and %d connections as other causes (record %d): more than %d requests indicate polling",
				e.Client, requests, e.Calls, e.Notifications, e.Connections, n.N, allowed)
		}
	}
	return checker{record: record, finish: func(ending) Verdict {
		switch {
		case broken.Count > 0:
			return broken.Fail("clients in a loop")
		case judged == 0:
			return notJudged("no client's requests were counted")
		}
		return pass()
	}}
}

const (
	requestsPerCall    = 16 // and one for each client
	requestsPerCause   = 6  // for each notification, connection and, in a queue, lost race; and one for each client
	requestsForNothing = 40 // in one phase

	requestsPerSecond     = 100.0 // of a polling client
	idleRequestsPerSecond = 5.0   // of another client, which may check its place in line now and then
)

// Polling is the variant of a subject whose waiters watch nothing, as Header.Variant.
const Polling = "polling"
