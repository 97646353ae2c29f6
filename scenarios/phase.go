package scenarios

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/report/history"
)

// How operations arrive, as Phase.Arrivals.
const (
	constant = "constant" // at even intervals, the default
)

// arrivals are the instants at which operations of a phase are due, in order. Each is given to one
// client that is free.
type arrivals struct {
	history.Arrivals
	random *rand.Rand // nil for even intervals

	mu    sync.Mutex
	count float64 // how many operations are expected until the next one
	until time.Duration
}

// newArrivals returns the arrivals of a phase that begins at start. The seed decides random
// intervals.
func newArrivals(p *spec.Phase, start time.Duration, seed uint64) *arrivals {
	a := &arrivals{until: p.Duration, Arrivals: history.Arrivals{
		At: start, Phase: p.Name, For: p.Duration, Rate: p.Rate, RateTo: p.RateTo, Steps: p.Steps}}
	if p.Arrivals == spec.Poisson {
		a.random = rand.New(rand.NewPCG(seed, 0))
		a.count = a.random.ExpFloat64()
	}
	return a
}

func (a *arrivals) next() (due time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	after := a.reach(a.count)
	if after >= a.until {
		return 0, false
	}
	a.count++
	if a.random != nil {
		a.count += a.random.ExpFloat64() - 1
	}
	return a.At + after, true
}

func (a *arrivals) end(now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = min(a.until, now-a.At)
}

func (a *arrivals) reach(count float64) time.Duration {
	whole := a.For.Seconds()
	switch {
	case !a.Ramp():
		return inSeconds(count / a.Rate)
	case a.Steps > 1:
		each := whole / float64(a.Steps)
		for i := range a.Steps {
			rate := a.RateAt(time.Duration((float64(i) + 0.5) * each * float64(time.Second)))
			if count < rate*each {
				return inSeconds(float64(i)*each + count/rate)
			}
			count -= rate * each
		}
		return a.For
	}
	steep := (a.RateTo - a.Rate) / whole
	return inSeconds(2 * count / (a.Rate + math.Sqrt(a.Rate*a.Rate+2*count*steep)))
}

func inSeconds(s float64) time.Duration {
	return time.Duration(min(s, spec.MaxDuration.Seconds()) * float64(time.Second))
}
