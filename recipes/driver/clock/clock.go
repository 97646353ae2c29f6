// Package clock maps the clocks of other processes and machines to this process's, with a bound on the error.
package clock

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Map maps another clock to this process's, from round trips that read it. The zero value has no round trips.
// All methods are safe for concurrent use.
//
// A round trip shows that the other clock read Now at an instant between Sent and Got. Clocks
// drift, so for other readings this interval grows with the time in between. The true time is in
// the intervals of all round trips; the middle of their intersection is used. Short round trips and
// round trips near in time bound it most.
type Map struct {
	mu        sync.Mutex
	isRemote  bool // on another machine: never treated as this machine's clock
	differs   bool // known to differ from this machine's monotonic clock
	base      time.Time
	baseRaw   int64  // this machine's monotonic clock at base
	window    []Trip // the last windowTrips round trips
	rate      rate
	durations []time.Duration
}

// Trip is a round trip to another clock.
type Trip struct {
	Sent, Got     time.Time
	Before, After int64 // this machine's monotonic clock ([Monotonic]) before and after
	Now           int64 // reading of the other clock, in ns
}

func (t Trip) duration() time.Duration { return t.Got.Sub(t.Sent) }

const (
	windowTrips = 64   // round trips used for the mapping: clocks drift
	tripsKept   = 3600 // round trips whose durations are stored
	// drift bounds the drift between two clocks, and wander its change within a window: a crystal
	// keeps some 100 ppm, and NTP adjusts a clock by at most 500.
	drift  = 600e-6
	wander = 20e-6
)

// SetRemote marks the clock as another machine's: it is not treated as this machine's, even if both
// show the same time by chance.
func (m *Map) SetRemote() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isRemote = true
}

// Add adds a round trip.
func (m *Map) Add(t Trip) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.base.IsZero() {
		m.base, m.baseRaw = time.Now(), Monotonic()
	}
	m.differs = m.differs || m.isRemote || t.Now < t.Before || t.Now > t.After
	if len(m.window) == windowTrips {
		m.window = slices.Delete(m.window, 0, 1)
	}
	m.window = append(m.window, t)
	m.rate = estimateRate(m.window)
	if len(m.durations) < tripsKept {
		m.durations = append(m.durations, t.duration())
	}
}

// At returns the time at which the other clock read ns, and a bound of the error. The error is 0 for a
// process that reads this machine's monotonic clock, as most do: every round trip confirms it.
func (m *Map) At(ns int64) (t time.Time, maxError time.Duration) {
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

// rate bounds the speed of the other clock: ns of our clock per ns of the other.
type rate struct{ low, high float64 }

// estimateRate derives the rate from round trips far apart: the longer the time between them, the less their
// duration matters.
func estimateRate(window []Trip) rate {
	r := rate{1 - drift, 1 + drift}
	shortest := func(part []Trip) Trip {
		return slices.MinFunc(part, func(a, b Trip) int { return int(a.duration() - b.duration()) })
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
	low := float64(b.Sent.Sub(a.Got))/span - wander
	high := float64(b.Got.Sub(a.Sent))/span + wander
	if low > r.high || high < r.low { // inconsistent: use the limits of normal clocks
		return r
	}
	return rate{max(low, r.low), min(high, r.high)}
}

// bounds returns the earliest and the latest instant at which the other clock can have read ns,
// according to one round trip.
func (r rate) bounds(t Trip, ns int64) (first, last time.Time) {
	d := float64(ns - t.Now)
	a, b := d*r.low, d*r.high
	return t.Sent.Add(time.Duration(min(a, b))), t.Got.Add(time.Duration(max(a, b)))
}

// Trips returns the durations of the first tripsKept round trips.
func (m *Map) Trips() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.durations)
}

// Last returns the time at which the last round trip began, or the zero time if there was none. The
// other side was alive after that time.
func (m *Map) Last() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.window) == 0 {
		return time.Time{}
	}
	return m.window[len(m.window)-1].Sent
}

// About returns a description of the mapping, for people.
func (m *Map) About() string {
	if _, maxError := m.At(m.Latest()); maxError > 0 {
		return "its clock differs from this machine's, and is converted with a maximum error of " + maxError.String()
	}
	return "its clock is the machine's monotonic clock"
}

// Percentiles sorts durations and returns its p50 and p99, or zeros if it is empty.
func Percentiles(durations []time.Duration) (p50, p99 time.Duration) {
	if len(durations) == 0 {
		return 0, 0
	}
	slices.Sort(durations)
	return durations[len(durations)/2].Round(100), durations[len(durations)*99/100].Round(100)
}

// Latest returns the last reading of the other clock, in ns. Without one it returns baseRaw.
func (m *Map) Latest() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.window) == 0 {
		return m.baseRaw
	}
	return m.window[len(m.window)-1].Now
}

// Skew is the name of the environment variable that falsifies the clocks of an agent and of our drivers
// in tests, by an offset and optionally a deviation of the rate: "5s" or "-2s,200ppm".
const Skew = "ZKBENCH_SKEW"

// LocalClock is the clock that this process reports to others: the machine's monotonic clock if that can be
// read, with the error of Skew.
type LocalClock struct {
	start   time.Time // when the clock's reading was raw
	raw     int64
	tooFast float64 // deviation of the rate: 0.001 gains 1 ms per second
}

// NewLocalClock returns a clock with the error skew, in the format of [Skew]; "" means no error.
func NewLocalClock(skew string) (LocalClock, error) {
	o := LocalClock{start: time.Now(), raw: Monotonic()}
	if skew == "" {
		return o, nil
	}
	by, ppm, runs := strings.Cut(skew, ",")
	ahead, err := time.ParseDuration(by)
	if err == nil && runs {
		o.tooFast, err = strconv.ParseFloat(strings.TrimSuffix(ppm, "ppm"), 64)
	}
	if err != nil {
		return o, fmt.Errorf("%s is %q: want the offset of the clock and its drift in parts per million, for example 5s,200ppm", Skew, skew)
	}
	o.raw, o.tooFast = o.raw+int64(ahead), o.tooFast/1e6
	return o, nil
}

// At returns the clock's reading at t, in ns.
func (o LocalClock) At(t time.Time) int64 {
	since := t.Sub(o.start)
	return o.raw + int64(since) + int64(float64(since)*o.tooFast)
}

var own, errOwn = NewLocalClock(os.Getenv(Skew))

// Reading returns the reading of this process's clock at t, in ns.
func Reading(t time.Time) int64 { return own.At(t) }

// CheckSkew returns an error if the value of [Skew] is invalid.
func CheckSkew() error { return errOwn }
