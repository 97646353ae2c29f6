package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Chart shows the activity between two instants: a lane for each client, the servers and the faults.
type Chart struct {
	From, To time.Duration
	Lanes    []Lane
	Overlaps []Bar // times during which two clients held
	// EventTimes contains the instants of events, in order. The time axis is stretched around them.
	EventTimes []time.Duration
}

// Lane shows the activity of one client, of the servers, or of the faults.
type Lane struct {
	Client int // below 0: Servers or Faults
	Bars   []Bar
	Marks  []Mark
}

// Values of Lane.Client for other lanes. These lanes are the last.
const (
	Faults  = -1
	Servers = -2
	noLane  = -3 // for the observer's events
)

// Mark is an event in a lane, with its number in the explanation's list.
type Mark struct {
	At     time.Duration
	Number int
	Proof  bool
}

// Name returns the label of the lane.
func (l Lane) Name() string {
	switch l.Client {
	case Faults:
		return "faults"
	case Servers:
		return "servers"
	}
	return fmt.Sprintf("client %d", l.Client)
}

// Bar is a time range in a lane.
type Bar struct {
	From, To time.Duration
	Kind     string
}

// The kinds of bar. If bars overlap, the later kind is on top.
const (
	WaitBar  = "waited" // an operation was in progress
	HoldBar  = "held"   // the client believed that it held
	FaultBar = "fault"  // a fault was active
)

// Kinds contains the kinds of bar, from bottom to top.
var Kinds = []string{WaitBar, HoldBar, FaultBar}

// Add adds a bar, clipped to the chart, to the lane of a client or of the faults.
func (c *Chart) Add(client int, from, to time.Duration, kind string) {
	if from > c.To || to < c.From {
		return
	}
	l := c.lane(client)
	l.Bars = append(l.Bars, Bar{max(from, c.From), min(to, c.To), kind})
}

func (c *Chart) lane(client int) *Lane {
	rank := func(client int) uint { return uint(client) } // so that the lanes of the servers and the faults are last
	i, found := slices.BinarySearchFunc(c.Lanes, client, func(l Lane, client int) int { return cmp.Compare(rank(l.Client), rank(client)) })
	if !found {
		c.Lanes = slices.Insert(c.Lanes, i, Lane{Client: client})
	}
	return &c.Lanes[i]
}

// Position returns the position of an instant in the chart, from 0 to 1. Between two events the axis
// is linear. Half of the width is distributed equally among the intervals between events, so that the events
// do not overlap, and half in proportion to the square root of the intervals' durations.
func (c Chart) Position(t time.Duration) float64 {
	edges := slices.Concat([]time.Duration{c.From}, c.EventTimes, []time.Duration{c.To})
	total, before := 0.0, 0.0
	for i := 1; i < len(edges); i++ {
		total += math.Sqrt(float64(edges[i] - edges[i-1]))
	}
	if !(total > 0) || t <= c.From {
		return 0
	}
	for i := 1; i < len(edges); i++ {
		gap := edges[i] - edges[i-1]
		width := (math.Sqrt(float64(gap))/total + 1/float64(len(edges)-1)) / 2
		if t < edges[i] {
			return before + width*float64(t-edges[i-1])/float64(gap)
		}
		before += width
	}
	return 1
}

func (c *Chart) findOverlaps() {
	var held []Bar
	for _, l := range c.Lanes {
		for _, b := range l.Bars {
			if b.Kind == HoldBar {
				held = append(held, b)
			}
		}
	}
	slices.SortStableFunc(held, func(a, b Bar) int { return cmp.Compare(a.From, b.From) })
	var until time.Duration
	for i, b := range held {
		if to := min(until, b.To); i > 0 && to > b.From {
			c.Overlaps = append(c.Overlaps, Bar{From: b.From, To: to, Kind: HoldBar})
		}
		until = max(until, b.To)
	}
}
