package host

import (
	"slices"
	"sync"
	"time"
)

// clock maps a driver's clock to ours.
type clock struct {
	mu      sync.Mutex
	recent  []sample // the last of them
	took    []time.Duration
	differs bool // it has been seen not to be the machine's monotonic clock
	base    time.Time
	baseRaw int64 // at base
}

// sample is what one round trip shows: the driver read now between sent and got.
type sample struct {
	sent, got     time.Time
	before, after int64 // the machine's monotonic clock, around both
	now           int64 // ns on the driver's clock
}

const (
	recentSamples = 16   // that the mapping is taken from: clocks may drift
	tripsKept     = 3600 // that percentiles are taken from
)

func (c *clock) add(s sample) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base.IsZero() {
		c.base, c.baseRaw = time.Now(), monotonic()
	}
	c.differs = c.differs || s.now < s.before || s.now > s.after
	if len(c.recent) == recentSamples {
		c.recent = slices.Delete(c.recent, 0, 1)
	}
	c.recent = append(c.recent, s)
	if len(c.took) < tripsKept {
		c.took = append(c.took, s.got.Sub(s.sent))
	}
}

// at returns when the driver's clock stood at ns, and by how much that may be wrong. A
// driver that reads the machine's monotonic clock, as most do, has ours: every sample lies
// between what we read before and after.
func (c *clock) at(ns int64) (t time.Time, wrong time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.differs {
		return c.base.Add(time.Duration(ns - c.baseRaw)), 0
	}
	best := slices.MinFunc(c.recent, func(a, b sample) int { return int(a.got.Sub(a.sent) - b.got.Sub(b.sent)) })
	half := best.got.Sub(best.sent) / 2
	return best.sent.Add(half + time.Duration(ns-best.now)), half
}

// trips returns how long the round trips took.
func (c *clock) trips() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.took)
}

// percentiles returns the p50 and p99.
func percentiles(took []time.Duration) (p50, p99 time.Duration) {
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return took[len(took)/2].Round(100), took[len(took)*99/100].Round(100)
}

// about says how the clock is mapped.
func (c *clock) about() string {
	if _, wrong := c.at(0); wrong > 0 {
		return "its clock is its own, and mapped to within " + wrong.String()
	}
	return "its clock is the machine's monotonic clock"
}
