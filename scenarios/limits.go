package scenarios

import (
	"cmp"
	"time"
)

// Limits bound the load of the machine on the harness. A trial that exceeds them is unknown: it
// measured the machine, not the recipe. A dropped record always makes a trial unknown.
type Limits struct {
	// Late is the largest delay of a timer of the harness. 0 is a third of the session timeout:
	// with longer delays, pings are late too and sessions may expire.
	Late time.Duration `yaml:"late,omitempty"`
	// LateShare is the share of the harness's timers that may fire more than 10 ms late; 0 is 0.3.
	// It is about 0.05 on two cores with six busy JVMs, and 0.2 with a thousand clients more.
	LateShare float64 `yaml:"late_share,omitempty"`
	// Backlog is the number of records that may wait to be written; 0 is 100000.
	Backlog int `yaml:"backlog,omitempty"`
	// CPU is the share of all processors that the harness may use, over the trial; 0 is 0.9. Above
	// it, clients wait for each other in the harness.
	CPU float64 `yaml:"cpu,omitempty"`
	// MachineCPU is the share of all processors that all processes may use, over the trial; 0 is no
	// limit. An ensemble on the same machine may fill it; the effect on the harness shows in Late
	// and LateShare.
	MachineCPU float64 `yaml:"machine_cpu,omitempty"`
}

// within returns l with defaults for values that are 0.
func (l Limits) within(sessionTimeout time.Duration) Limits {
	return Limits{
		Late: cmp.Or(l.Late, sessionTimeout/3), LateShare: cmp.Or(l.LateShare, 0.3), Backlog: cmp.Or(l.Backlog, 100_000),
		CPU: cmp.Or(l.CPU, 0.9), MachineCPU: cmp.Or(l.MachineCPU, 1),
	}
}

func (l Limits) validate(bad problemFunc) {
	between(bad, "late", l.Late, 0, maxDuration)
	if l.Backlog < 0 {
		bad("backlog", "%d is below 0", l.Backlog)
	}
	between(bad, "late_share", l.LateShare, 0, 1)
	between(bad, "cpu", l.CPU, 0, 1)
	between(bad, "machine_cpu", l.MachineCPU, 0, 1)
}
