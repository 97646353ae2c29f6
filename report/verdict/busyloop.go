package verdict

import "github.com/zkbench/zkbench/report/history"

const BusyLoop = "busy-loop"

func init() {
	register(Guarantee{
		Name: BusyLoop, Rule: 11, Concerns: anyRecipe,
		Promise: "A client that waits, waits for a notification; it does not ask again and again.",
		Harm:    "Waiting clients keep every member busy.",
		Help:    "requests that repeat without a notification between them",
		check:   newBusyLoop,
	})
}

// busy checks the second part of rule 11: a waiting client waits for a notification. Requests
// without a cause (a call, a notification, a reconnect; for a queue, a reply that another consumer
// was faster) are a loop.
//
// The bounds are wide: a sound recipe needs some six requests per call and two per notification, a
// loop makes hundreds. A polling subject may send a request every 10 ms.
type busy struct {
	history *history.History
	judged  int
	broken  evidence
}

const (
	requestsPerCall    = 16
	requestsPerCause   = 6   // for each notification, connection and, in a queue, lost race
	requestsForNothing = 40  // in one phase
	requestsPerSecond  = 100 // of a polling client
)

// Polling is the variant of a subject whose waiters watch nothing, as Header.Variant.
const Polling = "polling"

func newBusyLoop(in *inputs) checker {
	b := &busy{history: in.history}
	return checker{record: b.record, finish: b.finish}
}

func (b *busy) record(n history.Numbered) {
	e, ok := n.Record.(*history.Effort)
	if !ok {
		return
	}
	b.judged++
	causes := e.Notifications + e.Connections
	if e.Queue {
		causes += e.Refusals
	}
	allowed := requestsPerCall*e.Calls + requestsPerCause*causes + requestsForNothing
	if b.history.Header.Variant == Polling {
		allowed += int64(requestsPerSecond * (e.At - phaseStart(b.history, e.Phase, e.At)).Seconds())
	}
	if e.Requests <= allowed {
		return
	}
	b.broken.add([]int{n.N},
		"client %d sent %d requests for %d calls, with %d notifications and %d connections as reasons (record %d): more than %d indicate polling",
		e.Client, e.Requests, e.Calls, e.Notifications, e.Connections, n.N, allowed)
}

func (b *busy) finish(ending) Verdict {
	switch {
	case b.broken.count > 0:
		return b.broken.fail("clients in a loop")
	case b.judged == 0:
		return notJudged("no client's requests were counted")
	}
	return pass()
}
