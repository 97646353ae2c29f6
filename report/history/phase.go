package history

import "time"

// Kinds of phase on which conclusions depend. Other kinds need none of their own.
const (
	DrainPhase      = "drain"      // all stand in line, and it drains; hand-offs are counted
	FlapPhase       = "flap"       // a waiter goes and comes back; operations only show that all is well
	SuccessionPhase = "succession" // clients are made to leave in a given order
	FailoverPhase   = "failover"   // holders are hit on purpose, one a round
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
	At     time.Duration     `json:"at"`
	Name   string            `json:"phase"` // unique in the trial
	Index  int               `json:"index"` // in the scenario, from 0
	Kind   string            `json:"kind"`
	Pace   Pace              `json:"pace"`
	Params map[string]string `json:"params,omitempty"` // the phase's fields in the scenario
}

// PhaseEnd ends the phase that began last under that index.
type PhaseEnd struct {
	At    time.Duration `json:"at"`
	Name  string        `json:"phase"`
	Index int           `json:"index"`
}
