package history

import "time"

// Self has the harness's measurements of the trial, with their limits.
type Self struct {
	At         time.Duration `json:"at"`
	Ticks      int64         `json:"ticks"`      // of its own timer
	LateTicks  int64         `json:"late_ticks"` // more than 10 ms late
	LateMax    time.Duration `json:"late_max"`
	Records    int64         `json:"records"`
	Lost       int64         `json:"lost"` // records; must be 0
	MaxBacklog int64         `json:"max_backlog"`
	CPU        *float64      `json:"cpu,omitempty"`         // share of all processors used by this process
	MachineCPU *float64      `json:"machine_cpu,omitempty"` // share used by all processes
	Limits     SelfLimits    `json:"limits"`
}

// SelfLimits bound the load of the machine on the harness.
type SelfLimits struct {
	Late       time.Duration `json:"late"`
	LateShare  float64       `json:"late_share"` // of all ticks
	Backlog    int64         `json:"backlog"`    // records
	CPU        float64       `json:"cpu"`
	MachineCPU float64       `json:"machine_cpu"`
}
