package history

import "time"

// Kinds of phase on which conclusions depend.
const (
	DrainPhase      = "drain"      // all clients wait in line, and it drains; hand-offs are counted
	FlapPhase       = "flap"       // a waiter leaves and returns; operations only show that the line works
	SuccessionPhase = "succession" // clients leave in a given order
	FailoverPhase   = "failover"   // one holder per round is hit
	ConnectPhase    = "connect"    // all sessions are opened, and are then idle
)

// Pace determines when the clients of a phase act.
type Pace string

// The paces.
const (
	ByClients Pace = "clients" // closed loop: each continues as soon as it can
	ByRate    Pace = "rate"    // open loop: operations are due at a rate
	ByHarness Pace = "harness" // each step waits for the effect of the one before, so that a rate is meaningless
)

// PhaseStart begins a phase of the trial.
type PhaseStart struct {
	At    time.Duration `json:"at"`
	Name  string        `json:"phase"`
	Index int           `json:"index"` // in the scenario, from 0
	Kind  string        `json:"kind"`
	Pace  Pace          `json:"pace"`
	// Contenders is the number of clients that act, the first ones, while the others only have their
	// sessions; 0: all.
	Contenders int               `json:"contenders,omitempty"`
	Params     map[string]string `json:"params,omitempty"` // the phase's fields in the scenario
}

// PhaseEnd ends the last phase that began with that index.
type PhaseEnd struct {
	At    time.Duration `json:"at"`
	Name  string        `json:"phase"`
	Index int           `json:"index"`
	// Stopped is when the clients were stopped; later operations do not count for the phase.
	// 0: they were not notified, and all count.
	Stopped time.Duration `json:"stopped,omitempty"`
}

// Waiting is an operation that was in progress when its phase ended, or when its client was told to
// stop: its duration until then counts.
type Waiting struct {
	At     time.Duration `json:"at"`
	Phase  string        `json:"phase"`
	Client int           `json:"client"`
	Op     string        `json:"op"`   // as Sample.Op
	Call   time.Duration `json:"call"` // when it was called
}

// Unplayed means that the trial could not run to its end, and why.
type Unplayed struct {
	At           time.Duration `json:"at"`
	Why          string        `json:"why"`
	Inapplicable bool          `json:"inapplicable,omitempty"`
}
