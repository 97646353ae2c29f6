package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// AtRate reports whether operations were due at a rate, in an open loop: the throughput is then the
// arrival rate, and does not depend on the subject.
func AtRate(measured map[string]Metric) bool {
	return measured[QueueYield].Value != nil || measured[Unserved].Value != nil
}

// Ramp contains the results of a phase in which operations were due at an increasing rate.
type Ramp struct {
	Phase    string
	From, To float64     // the rates, per second
	Points   []RampPoint // by rate
	Capacity float64     // value of the metric capacity
	KeptUp   bool
	Beyond   float64 // operations done per second after the subject fell behind; 0 if it kept up
}

// RampPoint summarizes the operations that were due at about the same rate. The latency of an
// operation that was never done is the time until it was abandoned.
type RampPoint struct {
	Rate     float64 // operations per second
	Count    int
	P50, Max time.Duration // from due to done
}

type arrived struct {
	ignored
	fold          *Fold
	due, unserved int64
	ramps         map[string][]served // by phase
}

// served is an operation: the time it was due, and the time it was done (ok) or abandoned.
type served struct {
	due, done time.Duration
	ok        bool
}

func (x *arrived) sample(s *history.Sample, p *history.Phase) {
	switch ok := s.Outcome == history.OK; {
	case p.Arrivals == nil:
	case s.Op == history.Acquire:
		x.due++
		if !ok {
			x.unserved++
		}
		x.add(p, served{s.Due, s.Return, ok})
	case s.Op == history.Put && s.Outcome == history.Failed: // an item that was put is added when it is taken
		x.add(p, served{s.Due, s.Return, false})
	}
}

func (x *arrived) add(p *history.Phase, s served) {
	if p.Ramp() {
		x.ramps[p.Name] = append(x.ramps[p.Name], s)
	}
}

func (x *arrived) close(out map[string]Metric) {
	if x.due > 0 {
		out[Unserved] = of(Unserved, float64(x.unserved), x.due)
	}
	for i := range x.fold.history.Phases {
		p := &x.fold.history.Phases[i]
		if all := x.ramps[p.Name]; all != nil {
			done := foldRamp(all, p.Arrivals, x.fold.history.Header.Clients)
			x.fold.OnRamp(done)
			m := done.metric(int64(len(all)))
			if len(x.ramps) > 1 {
				out[Capacity+"."+p.Name] = m
			}
			if last, some := out[Capacity]; !some || *m.Value < *last.Value {
				out[Capacity] = m
			}
		}
	}
}

func (r Ramp) metric(count int64) Metric {
	m := Metric{Unit: "1/s", Phase: r.Phase, Count: &count, Value: &r.Capacity}
	m.Note = fmt.Sprintf("after it fell behind, it completed %s per second", units.Number(r.Beyond))
	if r.KeptUp {
		m.Note = "it kept up to the end, so this is a lower bound"
	}
	return m
}

const (
	rampSteps = 50 // number of points for a continuous ramp
	keptUp    = 0.1
	rampParts = 1000 // of the ramp: resolution of the search for a rate, and the largest number of steps shown
)

// foldRamp computes the results of a ramp. The capacity follows from the last time at which no more
// operations waited than there are clients, see exceeded and beyond.
func foldRamp(all []served, a *history.Arrivals, clients int) Ramp {
	slices.SortStableFunc(all, func(a, b served) int { return cmp.Compare(a.due, b.due) })
	done := make([]time.Duration, len(all))
	for i, s := range all {
		done[i] = s.done
	}
	slices.Sort(done)
	point, gone := 0, 0
	for i, s := range all {
		for gone < len(done) && done[gone] <= s.due {
			gone++
		}
		if i+1-gone <= clients {
			point = i
		}
	}
	last := all[len(all)-1].due
	out := Ramp{Phase: a.Phase, From: a.Rate, To: a.RateTo, Points: rampPoints(all, a)}
	switch at := all[point].due; {
	case float64(last-at) <= keptUp*float64(a.For):
		out.KeptUp, out.Capacity = true, a.RateAt(last-a.At)
	default:
		out.Beyond = beyond(all, at)
		out.Capacity = max(exceeded(a, at-a.At, clients), out.Beyond)
	}
	return out
}

// exceeded returns the rate such that a subject with this capacity has n operations waiting at the
// time by: n more operations were due than it could do. It returns 0 if fewer than n were due beyond
// the initial rate: that rate was too high already, or all clients were stopped for a while.
func exceeded(a *history.Arrivals, by time.Duration, n int) float64 {
	part := a.For / rampParts
	by = min(by, a.For)
	due := 0.0
	for since := by; since >= 0 && part > 0; since -= part {
		rate := a.RateAt(since)
		if due-rate*(by-since).Seconds() >= float64(n) {
			return rate
		}
		due += rate * part.Seconds()
	}
	return 0
}

func beyond(all []served, since time.Duration) float64 {
	n, until := 0, since
	for _, s := range all {
		if s.ok && s.done > since {
			n++
			until = max(until, s.done)
		}
	}
	if until == since {
		return 0
	}
	return float64(n) / (until - since).Seconds()
}

// rampPoints groups the operations, which are sorted by due time, by the rate at which they were due.
func rampPoints(all []served, a *history.Arrivals) (out []RampPoint) {
	n := min(cmp.Or(a.Steps, rampSteps), rampParts)
	for i := range n {
		from, to := a.At+a.For*time.Duration(i)/time.Duration(n), a.At+a.For*time.Duration(i+1)/time.Duration(n)
		first := sort.Search(len(all), func(k int) bool { return all[k].due >= from })
		next := sort.Search(len(all), func(k int) bool { return all[k].due >= to })
		if first == next {
			continue
		}
		took := make([]time.Duration, 0, next-first)
		for _, s := range all[first:next] {
			took = append(took, s.done-s.due)
		}
		slices.Sort(took)
		out = append(out, RampPoint{Rate: a.RateAt((from+to)/2 - a.At), Count: len(took), P50: took[(len(took)-1)/2], Max: took[len(took)-1]})
	}
	return out
}
