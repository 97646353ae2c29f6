package metrics

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/stats"
)

// slowTime names the times with few grants.
const slowTime = "slow.time"

func init() {
	register(Family{
		Order: 62,
		Definitions: []Definition{
			{Name: slowTime, Unit: "ns", Better: Lower, Distribution: true,
				Help: "times, in whole seconds, in which a phase with faults had fewer than half of the grants of an undisturbed second"},
		},
		collect: func(f *Fold) collector {
			x := &slow{fold: f, grants: map[string]map[time.Duration]int{}}
			return collector{sample: x.sample, close: x.close}
		},
	})
}

// slow counts grants by second of the trial, for each phase.
type slow struct {
	fold   *Fold
	grants map[string]map[time.Duration]int
}

func (x *slow) sample(s *history.Sample, p *history.Phase) {
	if !counted(s, p) {
		return
	}
	if x.grants[s.Phase] == nil {
		x.grants[s.Phase] = map[time.Duration]int{}
	}
	x.grants[s.Phase][s.Return/time.Second]++
}

// close observes the slow times of phases with faults: a single 0 where there was none,
// nothing where nobody knows what is slow.
func (x *slow) close(map[string]Metric) {
	usual, ok := x.usual()
	if !ok {
		return
	}
	faults, slow := false, false
	end := func(run time.Duration) {
		if run > 0 {
			slow = true
			x.fold.observe(slowTime, "", run)
		}
	}
	for _, name := range x.fold.rated() {
		if !x.disturbed(name) {
			continue
		}
		faults = true
		run := time.Duration(0)
		for _, n := range x.seconds(name) {
			if 2*float64(n) < usual {
				run += time.Second
				continue
			}
			end(run)
			run = 0
		}
		end(run)
	}
	if faults && !slow {
		x.fold.observe(slowTime, "", 0)
	}
}

func (x *slow) disturbed(name string) bool {
	p := x.fold.phase(name)
	return x.fold.faults.Touches(p.Start, x.fold.endOf(p))
}

// seconds returns the grants of each whole second of a phase, in order.
func (x *slow) seconds(name string) []int {
	p := x.fold.phase(name)
	var out []int
	for at := (p.Start + time.Second - 1) / time.Second; (at+1)*time.Second <= x.fold.endOf(p); at++ {
		out = append(out, x.grants[name][at])
	}
	return out
}

// usual is the median of the grants in an undisturbed second.
func (x *slow) usual() (float64, bool) {
	var all []float64
	for _, name := range x.fold.rated() {
		if !x.disturbed(name) {
			for _, n := range x.seconds(name) {
				all = append(all, float64(n))
			}
		}
	}
	median, ok := stats.Middle(all)
	return median, ok && median >= fewestGrants
}
