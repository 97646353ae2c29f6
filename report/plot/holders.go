package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/report/units"
)

// Limits of what one still picture of the holders can show readably.
const (
	holderRows    = 40  // clients
	holderBeliefs = 240 // grants
)

// Holders plots who believed to hold the grant, one row a client, over shaded
// fault windows, with every overlap in the alarm colour. A long trial is cut to
// the slice around its first overlap or else its first fault; the legend says so.
// It is nil when nobody ever held.
func Holders(t Timeline) *Figure {
	if len(t.Beliefs) == 0 {
		return nil
	}
	f := newFigure("holders-"+t.Trial, fmt.Sprintf("Who held when: %s, %s", t.Label, units.Plural(t.Clients, "contender")),
		"Each bar is the time in which a client believed that it held the grant. Two bars at the same time would be two holders.")
	f.Trial, f.Clients = t.Trial, t.Clients
	from, to, cut := slice(t)
	rows, dropped := holderRowsOf(t, from, to)
	f.bands = within(bandsOf(t.Windows), seconds(from), seconds(to))
	secondsAxis(&f.body.X, seconds(from), seconds(to))
	f.rowAxis(rows)
	bars := holding{rows: rows, beliefs: t.Beliefs, overlaps: t.Overlaps, look: look{color: palette[0]}}
	f.body.Add(shading(f.bands), bars)
	f.legend = append(f.legend, entry{text: "holds", look: look{color: bars.look.color}, area: true})
	f.legend = append(f.legend, overlapEntries(t.Overlaps)...)
	f.legend = append(f.legend, bandEntries(f.bands)...)
	f.About += aboutSlice(t, from, to, cut, len(rows), dropped)
	f.height = 165 + vg.Length(bandRows(f.bands))*(smallSize+4) + vg.Length(len(rows))*rowHeight(len(rows))
	return f
}

// rowHeight shrinks where there are many rows.
func rowHeight(rows int) vg.Length {
	if rows > 20 {
		return 13.5
	}
	return 20
}

func (f *Figure) rowAxis(rows []int) {
	y := &f.body.Y
	y.Min, y.Max = -0.5, float64(len(rows))-0.5
	f.yTitle = "client"
	y.Padding = 0
	y.Tick.LineStyle.Width = 0
	y.Tick.Length = 0
	if len(rows) > 20 {
		y.Tick.Label.Font.Size = 11
	}
	var marks ticks
	for i, client := range rows {
		marks = append(marks, plot.Tick{Value: float64(len(rows) - 1 - i), Label: strconv.Itoa(client)})
	}
	y.Tick.Marker = marks
}

func overlapEntries(overlaps []Overlap) []entry {
	var out []entry
	n := 0
	for _, o := range overlaps {
		if o.Exposure {
			n++
		}
	}
	if bad := len(overlaps) - n; bad > 0 {
		out = append(out, entry{text: "two at once: " + units.Plural(bad, "overlap"), look: look{color: alarm, shape: triangle}, area: true})
	}
	if n > 0 {
		out = append(out, entry{text: fmt.Sprintf("exposure, inherent in leases (%d)", n), look: look{color: warned}, area: true})
	}
	return out
}

func aboutSlice(t Timeline, from, to time.Duration, cut bool, rows, dropped int) string {
	about := ""
	if cut {
		about += fmt.Sprintf(" Shown are %s of the trial; the interactive timeline on the page covers all of it.", units.Duration(float64(to-from)))
	}
	if dropped > 0 {
		about += fmt.Sprintf(" Of the %d clients that held in it, %d have a row: those in overlaps first, then those that held first.", rows+dropped, rows)
	}
	return about
}

// slice picks the part of the trial that a still picture shows.
func slice(t Timeline) (from, to time.Duration, cut bool) {
	beliefs := slices.Clone(t.Beliefs)
	slices.SortStableFunc(beliefs, func(a, b Belief) int { return cmp.Compare(a.Start, b.Start) })
	a, b := extent(Timeline{Beliefs: t.Beliefs, Windows: t.Windows})
	if len(beliefs) <= holderBeliefs {
		return time.Duration(a * 1e9), time.Duration(b * 1e9), false
	}
	centre := beliefs[0].Start
	if len(t.Windows) > 0 {
		centre = t.Windows[0].Start
	}
	if len(t.Overlaps) > 0 {
		centre = firstAlarm(t.Overlaps).Start
	}
	at, _ := slices.BinarySearchFunc(beliefs, centre, func(b Belief, t time.Duration) int { return cmp.Compare(b.Start, t) })
	first := max(0, min(at-holderBeliefs/3, len(beliefs)-holderBeliefs))
	last := first + holderBeliefs - 1
	to = beliefs[last].End
	return beliefs[first].Start, max(to, beliefs[last].Start+1), true
}

// firstAlarm is the first violation, or else the first exposure.
func firstAlarm(overlaps []Overlap) Overlap {
	if i := slices.IndexFunc(overlaps, func(o Overlap) bool { return !o.Exposure }); i >= 0 {
		return overlaps[i]
	}
	return overlaps[0]
}

// holderRowsOf returns the clients that held within the slice, by number, at most
// holderRows of them, and how many had to be left out.
func holderRowsOf(t Timeline, from, to time.Duration) (rows []int, dropped int) {
	seen := map[int]bool{}
	add := func(client int) {
		if !seen[client] {
			seen[client] = true
			rows = append(rows, client)
		}
	}
	for _, o := range t.Overlaps {
		if o.End >= from && o.Start <= to {
			add(o.Clients[0])
			add(o.Clients[1])
		}
	}
	for _, b := range t.Beliefs {
		if b.End >= from && b.Start <= to {
			add(b.Client)
		}
	}
	if len(rows) > holderRows {
		dropped = len(rows) - holderRows
		rows = rows[:holderRows]
	}
	slices.Sort(rows)
	return rows, dropped
}

func within(bands []band, from, to float64) []band {
	return slices.DeleteFunc(bands, func(b band) bool { return b.to < from || b.from > to })
}

// holding draws the bars, and the overlaps over them.
type holding struct {
	rows     []int
	beliefs  []Belief
	overlaps []Overlap
	look     look
}

// Plot implements plot.Plotter.
func (m holding) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	row := map[int]vg.Length{}
	for i, client := range m.rows {
		row[client] = ty(float64(len(m.rows) - 1 - i))
		c.StrokeLine2(stroke(grid, 0.8), c.Min.X, row[client], c.Max.X, row[client])
	}
	half := rowHeight(len(m.rows)) * 0.36
	var bars vg.Path
	for _, b := range m.beliefs {
		if y, shown := row[b.Client]; shown && seconds(b.End) >= p.X.Min && seconds(b.Start) <= p.X.Max {
			bars = append(bars, bar(tx, c, b.Start, b.End, y, half, 1)...)
		}
	}
	if len(bars) > 0 {
		c.SetColor(m.look.color)
		c.Fill(bars)
	}
	for _, exposure := range []bool{true, false} { // the alarm lies on top
		m.marks(c, p, row, half, exposure)
	}
}

// holderOverlaps bounds the overlaps that are marked: where hundreds lie side by
// side more marks show nothing more.
const holderOverlaps = 400

// marks marks overlaps of one kind on both rows, and each moment on the edge of
// the plot, so that one of a microsecond is still seen.
func (m holding) marks(c draw.Canvas, p *plot.Plot, row map[int]vg.Length, half vg.Length, exposure bool) {
	tx, _ := p.Transforms(&c)
	var path vg.Path
	drawn := 0
	for _, o := range m.overlaps {
		if o.Exposure != exposure || seconds(o.End) < p.X.Min || seconds(o.Start) > p.X.Max || drawn >= holderOverlaps {
			continue
		}
		drawn++
		for _, client := range o.Clients {
			if y, shown := row[client]; shown {
				path = append(path, bar(tx, c, o.Start, o.End, y, half, 2.5)...)
			}
		}
		x := place(tx, seconds(o.Start+(o.End-o.Start)/2), c)
		path = triangle.path(path, vg.Point{X: x, Y: c.Min.Y + 4}, 4)
	}
	if len(path) == 0 {
		return
	}
	c.SetColor(alarm)
	if exposure {
		c.SetColor(warned)
	}
	c.Fill(path)
}

// bar is the outline of a time on a row, at least so wide.
func bar(tx func(float64) vg.Length, c draw.Canvas, from, to time.Duration, y, half, least vg.Length) vg.Path {
	x0, x1 := place(tx, seconds(from), c), place(tx, seconds(to), c)
	if x1-x0 < least {
		x1 = x0 + least
	}
	return vg.Rectangle{Min: vg.Point{X: x0, Y: y - half}, Max: vg.Point{X: x1, Y: y + half}}.Path()
}
