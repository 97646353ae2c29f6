package view

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
)

// Limits of static charts.
const (
	stills      = 3 // on a page
	stillGrants = 60
	stillLanes  = 20
)

// stillChart returns the part of a timeline that is shown on paper and without scripts, around the
// first overlap, or else the first fault.
func stillChart(t *report.Trace) explain.Chart {
	all := byStart(t.Holds)
	if len(all) == 0 {
		return explain.Chart{}
	}
	centre := all[0].Start
	if len(t.Faults) > 0 {
		centre = t.Faults[0].Start
	}
	if len(t.Overlaps) > 0 {
		centre = worst(t.Overlaps, 1)[0].Start
	}
	at, _ := slices.BinarySearchFunc(all, centre, func(b report.Hold, c time.Duration) int { return int(b.Start - c) })
	first := max(0, min(at-stillGrants/3, len(all)-stillGrants))
	all = all[first:min(first+stillGrants, len(all))]
	c := explain.Chart{From: all[0].Start, To: all[0].End}
	for _, b := range all {
		c.To = max(c.To, b.End)
	}
	for _, r := range t.Rounds {
		for _, s := range r.Line {
			c.Add(s.Client, s.From, s.To, explain.Waited)
		}
	}
	for _, b := range all {
		c.Add(b.Client, b.Start, b.End, explain.Held)
	}
	c.Lanes = c.Lanes[:min(len(c.Lanes), stillLanes)]
	for _, w := range t.Faults {
		c.Add(-1, w.Start, max(w.Start, w.End), explain.Fault)
	}
	return c
}
