package scenarios

import (
	"cmp"
	"time"
)

// Limits say how badly the harness itself may be treated by the machine before a
// trial counts as unfit: what it measured then says more about the machine than about
// the recipe. A dropped record makes a trial unfit always.
type Limits struct {
	// Late is by how much a timer of the harness may fire too late, at worst. 0 is a
	// third of the session timeout: past it, heartbeats are late as well, and sessions
	// may expire for the harness's sake.
	Late time.Duration `yaml:"late,omitempty"`
	// LateShare is how many of the harness's timers may fire more than 10 ms late, as a
	// share of all; 0 is 0.3. On two cores with
	// six busy JVMs it is 0.05, with a thousand clients more 0.2.
	LateShare float64 `yaml:"late_share,omitempty"`
	// Backlog is how many records may wait to be written; 0 is 100000.
	Backlog int `yaml:"backlog,omitempty"`
	// CPU is the share of all processors that the harness itself may use, over the
	// trial; 0 is 0.9. Above it, clients wait for each other in here, not in ZooKeeper.
	CPU float64 `yaml:"cpu,omitempty"`
	// MachineCPU is the share of all processors that everything together may use, over
	// the trial. 0 is no limit: an ensemble on the same machine fills it with reason,
	// and what that does to the harness is seen in Late and LateShare.
	MachineCPU float64 `yaml:"machine_cpu,omitempty"`
}

// within fills in what is left to the session timeout or to us.
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
