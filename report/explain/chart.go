package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Chart is who did what between two instants: a lane for each client, and one for the
// servers and one for the faults, where there are such.
type Chart struct {
	From, To time.Duration
	Lanes    []Lane
	Both     []Bar // times in which two of the lanes held
	// Stops are the instants at which something happens, in order: time is stretched
	// around them. Where there are none it is even.
	Stops []time.Duration
}

// Lane is what one client did, or the servers, or the faults.
type Lane struct {
	Client int // below 0: Servers or Faults
	Bars   []Bar
	Marks  []Mark
}

// Lanes of those who are no clients. They are the last.
const (
	Faults  = -1
	Servers = -2
	noLane  = -3 // of the observer's events
)

// Mark is an event in a lane, by its number in the story's list.
type Mark struct {
	At     time.Duration
	Number int
	Proof  bool
}

// Name is what stands before the lane.
func (l Lane) Name() string {
	switch l.Client {
	case Faults:
		return "faults"
	case Servers:
		return "servers"
	}
	return fmt.Sprintf("client %d", l.Client)
}

// Bar is a time in a lane.
type Bar struct {
	From, To time.Duration
	Kind     string
}

// The kinds of bar. Of bars at the same time the later kind lies on top.
const (
	Waited = "waited" // an operation was under way
	Held   = "held"   // it believed that it held
	Fault  = "fault"  // a fault was in force
)

// Kinds are the kinds of bar, from the bottom.
var Kinds = []string{Waited, Held, Fault}

// Add adds a bar to the lane of the client, or of the faults, as far as it lies within the
// chart.
func (c *Chart) Add(client int, from, to time.Duration, kind string) {
	if from > c.To || to < c.From {
		return
	}
	l := c.lane(client)
	l.Bars = append(l.Bars, Bar{max(from, c.From), min(to, c.To), kind})
}

// lane returns the lane of that client, and makes it where there is none.
func (c *Chart) lane(client int) *Lane {
	rank := func(client int) uint { return uint(client) } // -1 is the largest
	i, found := slices.BinarySearchFunc(c.Lanes, client, func(l Lane, client int) int { return cmp.Compare(rank(l.Client), rank(client)) })
	if !found {
		c.Lanes = slices.Insert(c.Lanes, i, Lane{Client: client})
	}
	return &c.Lanes[i]
}

// Share is how far into the chart an instant is, from 0 to 1. Between two stops time is
// even; of the room, half is the same between all of them, so that none lie upon each
// other, and half grows with the root of the time between them.
func (c Chart) Share(t time.Duration) float64 {
	edges := slices.Concat([]time.Duration{c.From}, c.Stops, []time.Duration{c.To})
	total, before := 0.0, 0.0
	for i := 1; i < len(edges); i++ {
		total += math.Sqrt(float64(edges[i] - edges[i-1]))
	}
	if !(total > 0) || t <= c.From {
		return 0
	}
	for i := 1; i < len(edges); i++ {
		gap := edges[i] - edges[i-1]
		room := (math.Sqrt(float64(gap))/total + 1/float64(len(edges)-1)) / 2
		if t < edges[i] {
			return before + room*float64(t-edges[i-1])/float64(gap)
		}
		before += room
	}
	return 1
}

// both finds the times in which two lanes held.
func (c *Chart) both() {
	var held []Bar
	for _, l := range c.Lanes {
		for _, b := range l.Bars {
			if b.Kind == Held {
				held = append(held, b)
			}
		}
	}
	slices.SortStableFunc(held, func(a, b Bar) int { return cmp.Compare(a.From, b.From) })
	var until time.Duration
	for i, b := range held {
		if to := min(until, b.To); i > 0 && to > b.From {
			c.Both = append(c.Both, Bar{From: b.From, To: to, Kind: Held})
		}
		until = max(until, b.To)
	}
}
