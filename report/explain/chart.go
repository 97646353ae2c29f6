package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Chart is who did what between two instants: a lane for each client, and one for the
// faults.
type Chart struct {
	From, To time.Duration
	Lanes    []Lane
}

// Lane is what one client did, or the faults.
type Lane struct {
	Client int // below 0 for the faults
	Bars   []Bar
}

// Name is what stands before the lane.
func (l Lane) Name() string {
	if l.Client < 0 {
		return "faults"
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

// Add adds a bar to the client's lane, as far as it lies within the chart. A client below
// 0 is none: the lane of the faults, which is the last.
func (c *Chart) Add(client int, from, to time.Duration, kind string) {
	if from > c.To || to < c.From {
		return
	}
	rank := func(client int) uint { return uint(client) } // -1 is the largest
	i, found := slices.BinarySearchFunc(c.Lanes, client, func(l Lane, client int) int { return cmp.Compare(rank(l.Client), rank(client)) })
	if !found {
		c.Lanes = slices.Insert(c.Lanes, i, Lane{Client: client})
	}
	c.Lanes[i].Bars = append(c.Lanes[i].Bars, Bar{max(from, c.From), min(to, c.To), kind})
}
