package history

import "time"

// The units of Traffic.Of.
const (
	OfHandoff = "hand-off"
	OfFlap    = "flap" // a waiter loses its session and returns
	OfItem    = "item"
)

// Traffic is the traffic of all clients while something was done Count times, with the prediction
// of the subject's formula. A pointer is nil if there is no formula, or the members do not report
// it.
type Traffic struct {
	At            time.Duration `json:"at"`
	Phase         string        `json:"phase"`
	Round         int           `json:"round,omitempty"`
	Of            string        `json:"of"`
	Count         int64         `json:"count"`
	Notifications int64         `json:"notifications"`
	Requests      int64         `json:"requests"`
	Lists         int64         `json:"lists,omitempty"` // requests for children
	Bytes         int64         `json:"bytes"`           // in both directions

	ExpectedNotifications *int64 `json:"expected_notifications,omitempty"`
	ExpectedRequests      *int64 `json:"expected_requests,omitempty"`
	ServerNotifications   *int64 `json:"server_notifications,omitempty"` // by the members' own counters
}

// Effort is the traffic of one client over a phase, with its causes.
type Effort struct {
	At            time.Duration `json:"at"`
	Phase         string        `json:"phase"`
	Client        int           `json:"client"`
	Queue         bool          `json:"queue,omitempty"` // the subject is a queue
	Calls         int64         `json:"calls"`           // operations called
	Requests      int64         `json:"requests"`
	Notifications int64         `json:"notifications"`
	Connections   int64         `json:"connections"`        // made
	Refusals      int64         `json:"refusals"`           // replies with an error, such as no node
	BackOff       time.Duration `json:"back_off,omitempty"` // waits after failed operations
}

// Pipe is the time of round trips to a driver over the trial.
type Pipe struct {
	At  time.Duration `json:"at"`
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	// Count is of how many.
	Count int `json:"count"`
	// Clock is the largest possible error of an agent's clock; 0 without agents.
	Clock time.Duration `json:"clock,omitempty"`
}
