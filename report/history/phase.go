package history

import "time"

// Kinds of phase on which conclusions depend. Other kinds need none of their own.
const (
	DrainPhase      = "drain"      // all stand in line, and it drains; hand-offs are counted
	FlapPhase       = "flap"       // a waiter goes and comes back; operations only show that all is well
	SuccessionPhase = "succession" // clients are made to leave in a given order
	FailoverPhase   = "failover"   // holders are hit on purpose, one a round
	ConnectPhase    = "connect"    // all sessions are opened, and then idle; nobody contends
)

// Pace says who decides when the clients of a phase act.
type Pace string

// The paces.
const (
	ByClients Pace = "clients" // a closed loop: each goes on as soon as it can
	ByRate    Pace = "rate"    // an open loop: operations are due at a rate
	ByHarness Pace = "harness" // each step waits for the effect of the one before, so that a rate says nothing
)

// PhaseStart begins a phase of the trial.
type PhaseStart struct {
	At    time.Duration `json:"at"`
	Name  string        `json:"phase"` // unique in the trial
	Index int           `json:"index"` // in the scenario, from 0
	Kind  string        `json:"kind"`
	Pace  Pace          `json:"pace"`
	// Contenders is how many of the clients act, the first ones, while the others only have
	// their sessions; 0: all.
	Contenders int               `json:"contenders,omitempty"`
	Params     map[string]string `json:"params,omitempty"` // the phase's fields in the scenario
}

// PhaseEnd ends the phase that began last under that index.
type PhaseEnd struct {
	At    time.Duration `json:"at"`
	Name  string        `json:"phase"`
	Index int           `json:"index"`
	// Stopped is when the clients were told to stop; what they did afterwards is no part of
	// what the phase measures. 0: they were not told, and all of it counts.
	Stopped time.Duration `json:"stopped,omitempty"`
}

// Waiting is an operation that was under way when its phase ended, or when its client was
// told to stop: how long it had lasted by then counts, although no sample of it tells.
type Waiting struct {
	At     time.Duration `json:"at"`
	Phase  string        `json:"phase"`
	Client int           `json:"client"`
	Op     string        `json:"op"`   // as Sample.Op
	Call   time.Duration `json:"call"` // when it was called
}

// Unplayed says that the trial could not be played, or not to its end, and why.
type Unplayed struct {
	At  time.Duration `json:"at"`
	Why string        `json:"why"`
	// Inapplicable reports that the recipe does not allow what the trial is about.
	Inapplicable bool `json:"inapplicable,omitempty"`
}
