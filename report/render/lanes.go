package render

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// runes are how a terminal shows the kinds of bar.
var runes = map[string]rune{explain.Held: '█', explain.Waited: '·', explain.Fault: '╳'}

// writeLanes draws the lanes of a chart in characters, and what they stand for below.
func writeLanes(b *strings.Builder, c explain.Chart, marks []view.Mark, width int) {
	const label = 12
	cols := width - label - 2
	if len(c.Lanes) == 0 || c.To <= c.From {
		return
	}
	column := func(t time.Duration) int { return min(max(int(share(c, t)*float64(cols-1)), 0), cols-1) }
	from, to := units.Moment(c.From), units.Moment(c.To)
	fmt.Fprintf(b, "\n  %*s%s%s%s\n", label, "", from, strings.Repeat(" ", max(cols-len(from)-len(to), 1)), to)
	for _, l := range c.Lanes {
		row := []rune(strings.Repeat(" ", cols))
		for _, bar := range fromBottom(l) {
			for i := column(bar.From); i <= column(bar.To); i++ {
				row[i] = runes[bar.Kind]
			}
		}
		fmt.Fprintf(b, "  %-*s%s\n", label, l.Name(), strings.TrimRight(string(row), " "))
	}
	var key []string
	for _, m := range marks {
		key = append(key, string(runes[m.Kind])+" "+m.Text)
	}
	fmt.Fprintf(b, "%s\n\n", wrap("  "+strings.Join(key, "  "), "  ", width))
}

const (
	laneWidth  = 1000 // of the drawing, with laneLabel of it for the names
	laneLabel  = 110
	laneHeight = 26
)

// lanes draws the same as SVG, to be coloured by the style sheet.
func lanes(c explain.Chart) template.HTML {
	if len(c.Lanes) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="lanes" viewBox="0 0 %d %d" role="img" aria-label="From %s to %s">`, laneWidth, laneHeight*(len(c.Lanes)+1), units.Moment(c.From), units.Moment(c.To))
	x := func(t time.Duration) float64 { return laneLabel + share(c, t)*(laneWidth-laneLabel) }
	for i, l := range c.Lanes {
		y := laneHeight*i + 4
		fmt.Fprintf(&b, `<text x="0" y="%d" class="lane">%s</text>`, y+14, template.HTMLEscapeString(l.Name()))
		for _, bar := range fromBottom(l) {
			from := x(bar.From)
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="18" class="%s"/>`, from, y, max(x(bar.To)-from, 1.5), bar.Kind)
		}
	}
	y := laneHeight*len(c.Lanes) + 16
	fmt.Fprintf(&b, `<text x="%d" y="%d" class="time">%s</text><text x="%d" y="%d" class="time end">%s</text></svg>`, laneLabel, y, units.Moment(c.From), laneWidth, y, units.Moment(c.To))
	return template.HTML(b.String())
}

// share is how far into the chart an instant is, from 0 to 1.
func share(c explain.Chart, t time.Duration) float64 {
	if c.To <= c.From {
		return 0
	}
	return float64(t-c.From) / float64(c.To-c.From)
}

// fromBottom lists the bars of a lane as they lie upon each other.
func fromBottom(l explain.Lane) []explain.Bar {
	return slices.SortedStableFunc(slices.Values(l.Bars), func(a, b explain.Bar) int {
		return slices.Index(explain.Kinds, a.Kind) - slices.Index(explain.Kinds, b.Kind)
	})
}
