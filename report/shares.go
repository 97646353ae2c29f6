package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// Names of the metrics of a closed loop under faults.
const (
	// Fairness is Jain's index of the grants that each client had in the phases that
	// are not paced: 1 where all had as many, 1/N where one had them all.
	Fairness = "fairness"
	// SlowTime is each stretch, in whole seconds, of a phase with faults in which there
	// were fewer than half of the grants of an undisturbed second.
	SlowTime = "slow.time"
)

// slowWidth is the width of the slices in which grants are counted for SlowTime.
const slowWidth = time.Second

// fewestGrants is how many grants a client should have had before shares are compared,
// and a slice before it can be called slow.
const fewestGrants = 4

// shares counts grants by client, and by slice of their phase.
type shares struct {
	clients int
	grants  map[int]int
	slices  map[string]map[time.Duration]int
}

func newShares(clients int) shares {
	return shares{clients: clients, grants: map[int]int{}, slices: map[string]map[time.Duration]int{}}
}

func (s shares) add(x *history.Sample) {
	s.grants[x.Client]++
	if s.slices[x.Phase] == nil {
		s.slices[x.Phase] = map[time.Duration]int{}
	}
	s.slices[x.Phase][x.Return/slowWidth]++
}

// addShares puts what the counts came to among the metrics.
func (f *folding) addShares(out map[string]Metric) {
	if v, ok := f.shares.jain(); ok {
		out[Fairness] = Metric{Unit: "1", Value: new(v), Count: new(int64(f.shares.clients))}
	}
	f.addPhases(out)
	slow := NewHistogram()
	for _, d := range f.slow() {
		slow.Record(d)
	}
	if slow.Count() > 0 {
		f.histograms[SlowTime] = slow
		out[SlowTime] = slow.Metric()
	}
}

// jain is Jain's index: the square of the sum over n times the sum of the squares.
func (s shares) jain() (float64, bool) {
	var sum, squares float64
	for _, n := range s.grants {
		sum, squares = sum+float64(n), squares+float64(n)*float64(n)
	}
	if s.clients < 2 || sum < float64(fewestGrants*s.clients) {
		return 0, false
	}
	return sum * sum / (float64(s.clients) * squares), true
}

// addPhases adds the throughput of each phase, where there are several.
func (f *folding) addPhases(out map[string]Metric) {
	if len(f.busy) < 2 {
		return
	}
	for name, n := range f.busy {
		p, noted := f.phases[name]
		if end := cmp.Or(p.End, f.end); noted && end > p.Start {
			out[Throughput+"."+name] = Metric{Unit: "1/s", Phase: name, Count: new(int64(n)), Value: new(float64(n) / (end - p.Start).Seconds())}
		}
	}
}

// PhaseThroughputs returns the names of the metrics that are phases' throughputs.
func PhaseThroughputs(metrics map[string]Metric) []string {
	names := slices.Sorted(maps.Keys(metrics))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, Throughput+".") })
}

// slow returns the stretches of phases with faults in which everything was slow: a
// single 0 where there was none, nothing where nobody knows what is slow.
func (f *folding) slow() []time.Duration {
	calm, ok := f.calm()
	if !ok {
		return nil
	}
	var out []time.Duration
	faulty := false
	for _, name := range slices.Sorted(maps.Keys(f.shares.slices)) {
		p := f.phases[name]
		if !f.disturbed(p.Start, cmp.Or(p.End, f.end)) {
			continue
		}
		faulty = true
		run := time.Duration(0)
		for _, n := range f.counts(name) {
			if n < calm/2 {
				run += slowWidth
				continue
			}
			if run > 0 {
				out = append(out, run)
			}
			run = 0
		}
		if run > 0 {
			out = append(out, run)
		}
	}
	if faulty && out == nil {
		out = []time.Duration{0} // never slow
	}
	return out
}

// counts returns the grants of each whole slice of a phase, in order.
func (f *folding) counts(phase string) []int {
	p := f.phases[phase]
	var out []int
	for at := (p.Start + slowWidth - 1) / slowWidth; (at+1)*slowWidth <= cmp.Or(p.End, f.end); at++ {
		out = append(out, f.shares.slices[phase][at])
	}
	return out
}

// calm is the median of the grants in an undisturbed slice.
func (f *folding) calm() (int, bool) {
	var all []int
	for name := range f.shares.slices {
		p := f.phases[name]
		if !f.disturbed(p.Start, cmp.Or(p.End, f.end)) {
			all = append(all, f.counts(name)...)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	median := all[(len(all)-1)/2]
	return median, median >= fewestGrants
}
