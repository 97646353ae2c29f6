package render

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/units"
)

const (
	laneWidth  = 1000 // of the drawing, including laneLabel for the names
	laneLabel  = 90
	laneHeight = 34
	markRadius = 10
	timeWidth  = 62 // of a time label below the lanes
)

// lanes renders a chart as SVG; the style sheet sets the colors.
func lanes(c explain.Chart) template.HTML {
	if len(c.Lanes) == 0 {
		return ""
	}
	var b strings.Builder
	bottom := laneHeight * len(c.Lanes)
	fmt.Fprintf(&b, `<svg class="lanes" viewBox="0 0 %d %d" role="img" aria-label="From %s to %s, one lane each for %s">`,
		laneWidth, bottom+26, units.Moment(c.From), units.Moment(c.To),
		units.List(units.Names(c.Lanes, explain.Lane.Name)))
	x := func(t time.Duration) float64 {
		return laneLabel + markRadius + c.Position(t)*(laneWidth-laneLabel-2*markRadius)
	}
	box := func(bar explain.Bar, y, high int, kind string) {
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" class="%s"/>`, x(bar.From), y, max(x(bar.To)-x(bar.From), 1.5), high, kind)
	}
	for _, l := range c.Lanes {
		for _, bar := range l.Bars {
			if bar.Kind == explain.FaultBar {
				box(bar, 0, bottom, "band")
			}
		}
	}
	for i, l := range c.Lanes {
		y := laneHeight*i + 6
		fmt.Fprintf(&b, `<text x="0" y="%d" class="lane">%s</text>`, y+16, l.Name())
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%d" y2="%[3]d" class="rail"/>`, laneLabel, laneWidth, y+11)
		for _, bar := range fromBottom(l) {
			box(bar, y, 22, bar.Kind)
		}
	}
	for _, both := range c.Overlaps {
		box(both, 0, bottom, "both")
	}
	for i, l := range c.Lanes {
		writeMarks(&b, l, laneHeight*i+17, x)
	}
	writeTimes(&b, c, bottom+18, x)
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// writeMarks renders events as numbers in circles, next to each other if their times are equal.
func writeMarks(b *strings.Builder, l explain.Lane, y int, x func(time.Duration) float64) {
	free := 0.0
	for _, m := range l.Marks {
		at := max(x(m.At), free)
		free = at + 2*markRadius + 1
		kind := "event"
		if m.Proof {
			kind += " proof"
		}
		fmt.Fprintf(b, `<g class="%s"><circle cx="%.1f" cy="%d" r="%d"/><text x="%.1f" y="%d">%d</text></g>`, kind, at, y, markRadius, at, y+4, m.Number)
	}
}

// writeTimes writes the times of the start and the end of the chart below the lanes, and the times of
// the events between them if they do not overlap.
func writeTimes(b *strings.Builder, c explain.Chart, y int, x func(time.Duration) float64) {
	write := func(t time.Duration, at float64, place string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" class="time %s">%s</text>`, at, y, place, units.Moment(t))
	}
	write(c.From, laneLabel, "")
	free := laneLabel + 1.6*timeWidth
	for _, t := range c.EventTimes {
		if at := x(t); at >= free && at < laneWidth-1.6*timeWidth {
			write(t, at, "mid")
			free = at + timeWidth + 8
		}
	}
	write(c.To, laneWidth, "end")
}

func fromBottom(l explain.Lane) []explain.Bar {
	return slices.SortedStableFunc(slices.Values(l.Bars), func(a, b explain.Bar) int {
		return slices.Index(explain.Kinds, a.Kind) - slices.Index(explain.Kinds, b.Kind)
	})
}
