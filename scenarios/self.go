package scenarios

import (
	"bytes"
	"context"
	"io/fs"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/zkbench/zkbench/report/history"
)

// selfMonitor monitors the harness: late timers and busy processors show whether the machine was overloaded.
type selfMonitor struct {
	record *history.Writer
	limits history.HarnessLimits
	quit   chan struct{}
	done   sync.WaitGroup
	start  time.Time
	before usage
	ticks  int64
	late   int64 // ticks more than lateThreshold late
	max    time.Duration
}

const (
	selfEvery     = 10 * time.Millisecond
	lateThreshold = 10 * time.Millisecond
)

// selfLimits returns the limits beyond which a trial is unknown, because the load of the machine affected it. If a
// timer fires later than a third of the session timeout, pings are late too, and sessions may expire. About 5 % of
// the timers are late on two cores with six busy JVMs, and 20 % with a thousand clients more. An ensemble on the
// same machine may use all of it.
func selfLimits(sessionTimeout time.Duration) history.HarnessLimits {
	return history.HarnessLimits{Late: sessionTimeout / 3, LateShare: 0.3, Backlog: 100_000, CPU: 0.9, MachineCPU: 1}
}

func watchSelf(record *history.Writer, limits history.HarnessLimits) *selfMonitor {
	w := &selfMonitor{record: record, limits: limits, quit: make(chan struct{}), start: time.Now(), before: readUsage()}
	w.done.Go(w.run)
	return w
}

func (w *selfMonitor) run() {
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
		if late > lateThreshold {
			w.late++
		}
	}
}

func (w *selfMonitor) stop(now func() time.Duration) {
	close(w.quit)
	w.done.Wait()
	stats := w.record.Stats()
	s := &history.HarnessLoad{
		At: now(), Ticks: w.ticks, LateTicks: w.late, LateMax: w.max,
		Records: int64(stats.Records), Lost: int64(stats.Lost), MaxBacklog: int64(stats.MaxBacklog),
		Limits: w.limits,
	}
	after, length := readUsage(), time.Since(w.start).Seconds()
	if available := length * float64(runtime.NumCPU()); available > 0 && after.known && w.before.known {
		s.CPU = roundFraction((after.self - w.before.self) / available)
		if after.all > w.before.all {
			all := after.all - w.before.all
			s.MachineCPU, s.Stolen = roundFraction((after.busy-w.before.busy)/all), roundFraction((after.stolen-w.before.stolen)/all)
		}
	}
	w.record.Record(s)
}

// roundFraction rounds to thousandths, the precision of the measurement.
func roundFraction(v float64) *float64 { return new(math.Round(v*1000) / 1000) }

type usage struct {
	known     bool
	self      float64 // of this process
	busy, all float64 // of the machine, used and available; 0 if unknown
	stolen    float64 // by other virtual machines
}

func readUsage() usage {
	u := usage{}
	u.self, u.known = ownCPU()
	times, err := cpu.TimesWithContext(context.Background(), false)
	if err != nil || len(times) != 1 {
		return u
	}
	t := times[0]
	idle := t.Idle + t.Iowait
	u.busy = t.User + t.System + t.Nice + t.Irq + t.Softirq + t.Steal
	u.all, u.stolen = u.busy+idle, t.Steal
	return u
}

// powerFacts describes how the kernel saves power, which affects latencies: a processor that has to
// leave an idle state, or runs at a lower frequency, replies later. Absent files are unknown.
func powerFacts(sys fs.FS) map[string]string {
	facts := map[string]string{}
	for name, file := range map[string]string{
		"frequency governor": "devices/system/cpu/cpu0/cpufreq/scaling_governor",
		"frequency driver":   "devices/system/cpu/cpu0/cpufreq/scaling_driver",
		"boost":              "devices/system/cpu/cpufreq/boost",
		"idle driver":        "devices/system/cpu/cpuidle/current_driver",
		"idle governor":      "devices/system/cpu/cpuidle/current_governor",
	} {
		if text, err := fs.ReadFile(sys, file); err == nil && len(bytes.TrimSpace(text)) > 0 {
			facts[name] = string(bytes.TrimSpace(text))
		}
	}
	return facts
}
