// Package clock maps the clocks of other processes and machines to this process's, and says
// by how much that may be wrong.
package clock

import (
	"slices"
	"sync"
	"time"
)

// Map maps another clock to ours, by round trips in which it was read. The zero value knows
// none. All methods are safe to call from any goroutine.
//
// A round trip says that the other clock showed Now at some instant between Sent and Got.
// Two clocks may drift apart, so that for other readings this interval grows with the time
// between. What lies in the intervals of all round trips is the truth, and the middle of it is
// taken: the shortest of them count, and those near in time.
type Map struct {
	mu        sync.Mutex
	elsewhere bool // it is another machine's: never taken for ours
	differs   bool // it has been seen not to be this machine's monotonic clock
	base      time.Time
	baseRaw   int64  // this machine's monotonic clock at base
	window    []Trip // the last of them
	rate      rate
	took      []time.Duration
}

// Trip is a round trip to another clock.
type Trip struct {
	Sent, Got     time.Time
	Before, After int64 // this machine's monotonic clock ([Monotonic]), around both
	Now           int64 // what the other clock showed, in ns
}

func (t Trip) took() time.Duration { return t.Got.Sub(t.Sent) }

const (
	windowTrips = 64   // that the mapping is taken from: clocks drift
	tripsKept   = 3600 // that percentiles are taken from
	// drift is by how much two clocks may run apart, and wander is by how much their drift
	// may change within a window: a crystal keeps some 100 ppm, and NTP turns a clock by at most 500.
	drift  = 600e-6
	wander = 20e-6
)

// Elsewhere says that the clock is another machine's: it is not taken for this one's, even
// where both show the same by chance.
func (m *Map) Elsewhere() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.elsewhere = true
}

// Add takes in a round trip.
func (m *Map) Add(t Trip) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.base.IsZero() {
		m.base, m.baseRaw = time.Now(), Monotonic()
	}
	m.differs = m.differs || m.elsewhere || t.Now < t.Before || t.Now > t.After
	if len(m.window) == windowTrips {
		m.window = slices.Delete(m.window, 0, 1)
	}
	m.window = append(m.window, t)
	m.rate = fit(m.window)
	if len(m.took) < tripsKept {
		m.took = append(m.took, t.took())
	}
}

// At returns when the clock stood at ns, and by how much that may be wrong. A process that
// reads this machine's monotonic clock, as most do, has ours: every round trip shows it.
func (m *Map) At(ns int64) (t time.Time, wrong time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.differs || len(m.window) == 0 {
		return m.base.Add(time.Duration(ns - m.baseRaw)), 0
	}
	first, last := m.rate.bounds(m.window[0], ns)
	for _, trip := range m.window[1:] {
		from, to := m.rate.bounds(trip, ns)
		if to.Before(first) || from.After(last) {
			// No two clocks that run like these would show this: something stood still
			// between reading and writing. The later ones are right.
			first, last = from, to
			continue
		}
		if from.After(first) {
			first = from
		}
		if to.Before(last) {
			last = to
		}
	}
	half := last.Sub(first) / 2
	return first.Add(half), half
}

// rate is how fast the other clock runs: ns of ours to one of its own.
type rate struct{ least, most float64 }

// fit learns the rate from round trips far apart: the longer the time between, the less their
// own length matters.
func fit(window []Trip) rate {
	r := rate{1 - drift, 1 + drift}
	shortest := func(part []Trip) Trip {
		return slices.MinFunc(part, func(a, b Trip) int { return int(a.took() - b.took()) })
	}
	n := len(window) / 4
	if n == 0 {
		return r
	}
	a, b := shortest(window[:n]), shortest(window[len(window)-n:])
	span := float64(b.Now - a.Now)
	if span <= 0 {
		return r
	}
	least := float64(b.Sent.Sub(a.Got))/span - wander
	most := float64(b.Got.Sub(a.Sent))/span + wander
	if least > r.most || most < r.least { // it is no clock: leave it at what clocks do
		return r
	}
	return rate{max(least, r.least), min(most, r.most)}
}

// bounds are the earliest and the latest instant at which the clock can have stood at ns, by
// one round trip.
func (r rate) bounds(t Trip, ns int64) (first, last time.Time) {
	d := float64(ns - t.Now)
	low, high := d*r.least, d*r.most
	return t.Sent.Add(time.Duration(min(low, high))), t.Got.Add(time.Duration(max(low, high)))
}

// Trips returns how long the round trips took.
func (m *Map) Trips() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.took)
}

// Last returns when the last round trip was begun: the other side lived after it. It is zero
// before the first.
func (m *Map) Last() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.window) == 0 {
		return time.Time{}
	}
	return m.window[len(m.window)-1].Sent
}

// About says how the clock is mapped.
func (m *Map) About() string {
	if _, wrong := m.At(m.Latest()); wrong > 0 {
		return "its clock is its own, and mapped to within " + wrong.String()
	}
	return "its clock is the machine's monotonic clock"
}

// Percentiles returns the p50 and p99.
func Percentiles(took []time.Duration) (p50, p99 time.Duration) {
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return took[len(took)/2].Round(100), took[len(took)*99/100].Round(100)
}

// Latest is what the other clock showed last, in ns.
func (m *Map) Latest() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.window) == 0 {
		return m.baseRaw
	}
	return m.window[len(m.window)-1].Now
}
