package scenarios

import (
	"context"
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
	counts := map[string]int64{
		history.CountTicks: w.ticks, history.CountLateTicks: w.late, history.CountLate: int64(w.max),
		"records": int64(stats.Records), history.CountLost: int64(stats.Lost), history.CountBacklog: int64(stats.MaxBacklog),
		history.CountLimit + history.CountLate:      int64(w.limits.Late),
		history.CountLimit + history.CountLateTicks: permille(w.limits.LateShare),
		history.CountLimit + history.CountBacklog:   int64(w.limits.Backlog),
	}
	after, length := used(), time.Since(w.start).Seconds()
	if whole := length * float64(runtime.NumCPU()); whole > 0 && after.known && w.before.known {
		counts[history.CountCPU] = permille((after.self - w.before.self) / whole)
		counts[history.CountLimit+history.CountCPU] = permille(w.limits.CPU)
		if after.all > w.before.all {
			counts[history.CountMachine] = permille((after.busy - w.before.busy) / (after.all - w.before.all))
			counts[history.CountLimit+history.CountMachine] = permille(w.limits.MachineCPU)
		}
	}
	w.record.Note(history.Note{At: now(), Kind: history.Watch, Client: -1, Counts: counts})
}

func permille(share float64) int64 { return int64(share*1000 + 0.5) }

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
