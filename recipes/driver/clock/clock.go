// Package clock maps the clocks of other processes and machines to this process's, with a bound on
// the error.
package clock

import (
	"slices"
	"sync"
	"time"
)

// Map maps another clock to this one, from round trips in which it was read. The zero value has none.
// All methods are safe for concurrent use.
//
// A round trip shows that the other clock read Now at an instant between Sent and Got. Clocks
// drift, so for other readings this interval grows with the time in between. The true time is in
// the intervals of all round trips; the middle of their intersection is used. The shortest round
// trips count, and those near in time.
type Map struct {
	mu        sync.Mutex
	elsewhere bool // of another machine: never taken for this one
	differs   bool // known to differ from this machine's monotonic clock
	base      time.Time
	baseRaw   int64  // this machine's monotonic clock at base
	window    []Trip // the last of them
	rate      rate
	took      []time.Duration
}

// Trip is a round trip to another clock.
type Trip struct {
	Sent, Got     time.Time
	Before, After int64 // this machine's monotonic clock ([Monotonic]) before and after
	Now           int64 // reading of the other clock, in ns
}

func (t Trip) took() time.Duration { return t.Got.Sub(t.Sent) }

const (
	windowTrips = 64   // round trips used for the mapping: clocks drift
	tripsKept   = 3600 // round trips used for percentiles
	// drift bounds the drift between two clocks, and wander its change within a window: a crystal
	// keeps some 100 ppm, and NTP adjusts a clock by at most 500.
	drift  = 600e-6
	wander = 20e-6
)

// Elsewhere marks the clock as another machine's: it is not taken for this one's, even if both show
// the same by chance.
func (m *Map) Elsewhere() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.elsewhere = true
}

// Add adds a round trip.
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

// At returns when the clock read ns, and the bound of the error. A process that reads this
// machine's monotonic clock, as most do, has no error: every round trip confirms it.
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
			// Contradictory readings: a clock was read late. The later ones are right.
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

// rate bounds the speed of the other clock: ns of our clock per ns of its own.
type rate struct{ least, most float64 }

// fit derives the rate from round trips far apart: the longer the time in between, the less their
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
	if least > r.most || most < r.least { // inconsistent: use the limits of normal clocks
		return r
	}
	return rate{max(least, r.least), min(most, r.most)}
}

// bounds returns the earliest and the latest instant at which the clock can have read ns, by one
// round trip.
func (r rate) bounds(t Trip, ns int64) (first, last time.Time) {
	d := float64(ns - t.Now)
	low, high := d*r.least, d*r.most
	return t.Sent.Add(time.Duration(min(low, high))), t.Got.Add(time.Duration(max(low, high)))
}

func (m *Map) Trips() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.took)
}

// Last returns when the last round trip began: the other side was alive after it. It is zero before
// the first.
func (m *Map) Last() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.window) == 0 {
		return time.Time{}
	}
	return m.window[len(m.window)-1].Sent
}

// About describes the mapping.
func (m *Map) About() string {
	if _, wrong := m.At(m.Latest()); wrong > 0 {
		return "its clock is its own, and mapped to within " + wrong.String()
	}
	return "its clock is the machine's monotonic clock"
}

// Percentiles returns p50 and p99.
func Percentiles(took []time.Duration) (p50, p99 time.Duration) {
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return took[len(took)/2].Round(100), took[len(took)*99/100].Round(100)
}

// Latest returns the last reading of the other clock, in ns.
func (m *Map) Latest() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.window) == 0 {
		return m.baseRaw
	}
	return m.window[len(m.window)-1].Now
}
