package history

import "time"

// What traffic is counted over, as Traffic.Of.
const (
	OfHandoff = "hand-off" // of a line, or an item that is delivered to an idle consumer
	OfFlap    = "flap"     // a waiter loses its session and comes back
	OfItem    = "item"     // of a stream
)

// Traffic is what passed on the wire of all clients while something was done Count
// times, beside what the subject's formula says. A pointer is nil where no formula
// says, or no member tells.
type Traffic struct {
	At            time.Duration `json:"at"`
	Phase         string        `json:"phase"`
	Round         int           `json:"round,omitempty"`
	Of            string        `json:"of"`
	Count         int64         `json:"count"`
	Notifications int64         `json:"notifications"`
	Requests      int64         `json:"requests"`
	Lists         int64         `json:"lists,omitempty"` // requests for children
	Bytes         int64         `json:"bytes"`           // both ways

	ExpectedNotifications *int64 `json:"expected_notifications,omitempty"`
	ExpectedRequests      *int64 `json:"expected_requests,omitempty"`
	ServerNotifications   *int64 `json:"server_notifications,omitempty"` // by the members' own counters
}

// Effort is what one client asked over a phase, and what gave it a reason to.
type Effort struct {
	At            time.Duration `json:"at"`
	Phase         string        `json:"phase"`
	Client        int           `json:"client"`
	Queue         bool          `json:"queue,omitempty"` // the subject is a queue
	Calls         int64         `json:"calls"`           // operations called
	Requests      int64         `json:"requests"`
	Notifications int64         `json:"notifications"`
	Connections   int64         `json:"connections"`        // made
	Refusals      int64         `json:"refusals"`           // replies with an error, like no node
	BackOff       time.Duration `json:"back_off,omitempty"` // that it waited after operations that failed
}

// Pipe is how long a request to a driver and its answer take, over the trial.
type Pipe struct {
	At  time.Duration `json:"at"`
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	// Count is of how many.
	Count int `json:"count"`
	// Clock is by how much the clock of an agent may have been wrong, of the worst; 0 where the
	// clients live here.
	Clock time.Duration `json:"clock,omitempty"`
}
