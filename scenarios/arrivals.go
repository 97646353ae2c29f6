package scenarios

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// How operations arrive, as Phase.Arrivals.
const (
	constant = "constant" // at even distances, the default
	poisson  = "poisson"  // each independent of the others
)

// arrivals are the instants at which operations are due in a phase, in their order. Each is
// given away once, to whichever client is free to see to it.
type arrivals struct {
	history.Arrivals
	random *rand.Rand // nil where they are at even distances

	mu    sync.Mutex
	count float64       // how many are expected until the next one is due
	until time.Duration // since the beginning; from here on none is due
}

// newArrivals returns those of a phase that begins at start. The seed decides where they are
// at random.
func newArrivals(p *Phase, start time.Duration, seed uint64) *arrivals {
	a := &arrivals{until: p.Duration, Arrivals: history.Arrivals{
		At: start, Phase: p.Name, For: p.Duration, Rate: p.Rate, RateTo: p.RateTo, Steps: p.Steps}}
	if p.Arrivals == poisson {
		a.random = rand.New(rand.NewPCG(seed, 0))
		a.count = a.random.ExpFloat64()
	}
	return a
}

// next gives away the next that is due; false when there is none any more.
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

// end has nothing be due from now on.
func (a *arrivals) end(now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = min(a.until, now-a.At)
}

// reach returns how long after the beginning so many arrivals are expected: the inverse of the
// integral of the rate. At even distances that is when the next is due, at random it is where
// the sum of exponential distances is as large (a Poisson process on a stretched clock).
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

// inSeconds is a duration of so many seconds, at most the longest phase.
func inSeconds(s float64) time.Duration {
	return time.Duration(min(s, maxDuration.Seconds()) * float64(time.Second))
}
