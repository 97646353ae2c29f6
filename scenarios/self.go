package scenarios

import (
	"context"
	"math"
	"runtime"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"

	"github.com/zkbench/zkbench/report/history"
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
	if l.Late == 0 {
		l.Late = sessionTimeout / 3
	}
	if l.LateShare == 0 {
		l.LateShare = 0.3
	}
	if l.Backlog == 0 {
		l.Backlog = 100_000
	}
	if l.CPU == 0 {
		l.CPU = 0.9
	}
	if l.MachineCPU == 0 {
		l.MachineCPU = 1
	}
	return l
}

func (l Limits) validate(bad func(field, format string, args ...any)) {
	if l.Late < 0 || l.Late > maxDuration {
		bad("limits.late", "%v is not between 0 and %v", l.Late, maxDuration)
	}
	if l.Backlog < 0 {
		bad("limits.backlog", "%d is below 0", l.Backlog)
	}
	for _, share := range []struct {
		field string
		is    float64
	}{{"late_share", l.LateShare}, {"cpu", l.CPU}, {"machine_cpu", l.MachineCPU}} {
		if !(share.is >= 0 && share.is <= 1) {
			bad("limits."+share.field, "%v is not a share from 0 to 1", share.is)
		}
	}
}

// self watches the harness itself: how late its own timers fire, and how full the
// processors are, says whether the machine had time for the measurement.
type self struct {
	record *history.Writer
	limits Limits
	quit   chan struct{}
	done   chan struct{}
	start  time.Time
	before usage
	ticks  int64
	late   int64 // ticks that came more than lateAt behind
	max    time.Duration
}

const (
	selfEvery = 10 * time.Millisecond
	lateAt    = 10 * time.Millisecond
)

func watchSelf(record *history.Writer, limits Limits) *self {
	w := &self{record: record, limits: limits, quit: make(chan struct{}), done: make(chan struct{}), start: time.Now(), before: used()}
	go w.run()
	return w
}

func (w *self) run() {
	defer close(w.done)
	for {
		due := time.Now().Add(selfEvery)
		select {
		case <-time.After(selfEvery):
		case <-w.quit:
			return
		}
		late := time.Since(due)
		w.ticks++
		w.max = max(w.max, late)
		if late > lateAt {
			w.late++
		}
	}
}

// stop ends the watch and records what it saw, and what it may see.
func (w *self) stop(now func() time.Duration) {
	close(w.quit)
	<-w.done
	stats := w.record.Stats()
	s := &history.Self{
		At: now(), Ticks: w.ticks, LateTicks: w.late, LateMax: w.max,
		Records: int64(stats.Records), Lost: int64(stats.Lost), MaxBacklog: int64(stats.MaxBacklog),
		Limits: history.SelfLimits{
			Late: w.limits.Late, LateShare: w.limits.LateShare, Backlog: int64(w.limits.Backlog), CPU: w.limits.CPU, MachineCPU: w.limits.MachineCPU,
		},
	}
	after, length := used(), time.Since(w.start).Seconds()
	if whole := length * float64(runtime.NumCPU()); whole > 0 && after.known && w.before.known {
		s.CPU = share((after.self - w.before.self) / whole)
		if after.all > w.before.all {
			s.MachineCPU = share((after.busy - w.before.busy) / (after.all - w.before.all))
		}
	}
	w.record.Record(s)
}

// share rounds to thousandths, which is as exact as it can be had.
func share(v float64) *float64 { return new(math.Round(v*1000) / 1000) }

// usage is processor time used so far, in seconds.
type usage struct {
	known     bool
	self      float64 // by this process
	busy, all float64 // by the machine, of what there was; 0 where it does not tell
}

func used() usage {
	u := usage{}
	u.self, u.known = ownCPU()
	times, err := cpu.TimesWithContext(context.Background(), false)
	if err != nil || len(times) != 1 {
		return u
	}
	t := times[0]
	idle := t.Idle + t.Iowait
	u.busy = t.User + t.System + t.Nice + t.Irq + t.Softirq + t.Steal
	u.all = u.busy + idle
	return u
}
