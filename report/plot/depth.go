package plot

import (
	"fmt"

	"github.com/zkbench/zkbench/report/units"
)

// depthPoints bounds the corners of one line: more than there are pixels only make
// the page slow.
const depthPoints = 1200

// QueueDepth plots how many items wait, over shaded fault windows. It is nil when
// there are none.
func QueueDepth(d Timeline) *Figure {
	if len(d.Depth) == 0 {
		return nil
	}
	f := newFigure("depth-"+d.Trial, fmt.Sprintf("Items that wait over time: %s, %s", d.Label, units.Plural(d.Clients, "consumer")),
		"How many items are due and not taken, and how many of them are in the queue; the rest the producers have not been able to put. "+
			"Shaded: a fault was in force.")
	f.Trial, f.Clients = d.Trial, d.Clients
	var queued, due []xy
	most := 1
	for _, p := range d.Depth {
		queued, due = append(queued, xy{seconds(p.At), float64(p.Queued)}), append(due, xy{seconds(p.At), float64(p.Due)})
		most = max(most, p.Queued, p.Due)
	}
	f.bands = bandsOf(d.Faults)
	secondsAxis(&f.body.X, due[0].x, due[len(due)-1].x)
	itemsAxis(f, most)
	f.body.Add(shading(f.bands), gridlines{y: true})
	for _, l := range []struct {
		text  string
		at    []xy
		glyph glyph
	}{{"due and not taken", due, glyph{color: palette[1]}}, {"in the queue", queued, glyph{color: palette[0]}}} {
		f.body.Add(line{at: steps(thin(l.at, depthPoints)), style: stroke(l.glyph.color, 1.2)})
		f.legend = append(f.legend, entry{text: l.text, glyph: l.glyph, line: true})
	}
	f.legend = append(f.legend, bandEntries(f.bands)...)
	return f
}

// steps makes a line that stays level until the next point.
func steps(pts []xy) []xy {
	out := make([]xy, 0, 2*len(pts))
	for i, q := range pts {
		if i > 0 {
			out = append(out, xy{q.x, pts[i-1].y})
		}
		out = append(out, q)
	}
	return out
}

// itemsAxis is a linear axis of whole items from 0.
func itemsAxis(f *Figure, most int) {
	y := &f.body.Y
	y.Min, y.Max = 0, float64(most)*1.05
	step := max(1, niceStep(float64(most)/6))
	y.Tick.Marker = wholeTicks(step, y.Max)
	f.yTitle = "items"
}
