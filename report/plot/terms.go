package plot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/report/units"
)

// Drill is one round of a succession: who stood in line, who was made to leave, and
// who led. All times count from the start of the run.
type Drill struct {
	Trial, Label string // the trial's name and its series
	Phase        string // how they left: the phase's name
	Line         []Stand
	Terms        []Belief // of those who stood in line
	Windows      []Window
	End          time.Duration // of the drill
}

// Stand is a candidate's time in the line.
type Stand struct {
	Client   int
	From, To time.Duration // To is when it was made to leave, or the end of the drill
	Left     bool          // it was made to leave
}

// Terms plots a drill: one row a candidate, a thin bar while it stands in line, a
// full one while it leads, a cross where it was made to leave, and a row of its own
// for the times in which nobody led. It is nil when nobody stood or led.
func Terms(d Drill) *Figure {
	if len(d.Line) == 0 || len(d.Terms) == 0 {
		return nil
	}
	terms := slices.Clone(d.Terms)
	slices.SortStableFunc(terms, func(a, b Belief) int { return int(a.Start - b.Start) })
	gaps := leaderless(terms, d.End)
	f := newFigure("terms-"+d.Trial+"-"+d.Phase, fmt.Sprintf("Who led when: %s, %s", d.Label, d.Phase),
		fmt.Sprintf("One round of the drill. Leaders in turn: %s. Nobody led for %s in all. A cross is where a candidate was made to leave.",
			turns(terms), units.Duration(float64(total(gaps)))))
	f.Trial, f.Clients = d.Trial, len(d.Line)
	from, to := d.Line[0].From, d.End
	f.bands = within(bandsOf(d.Windows), seconds(from), seconds(to))
	secondsAxis(&f.body.X, seconds(from), seconds(to))
	rows := candidates(d.Line)
	f.termRows(rows)
	f.body.Add(shading(f.bands), drill{rows: rows, line: d.Line, terms: terms, gaps: gaps, end: d.End})
	f.legend = append(f.legend,
		entry{text: "leads", look: look{color: palette[0]}, area: true}, entry{text: "stands in line", look: look{color: waits}, line: true},
		entry{text: "made to leave", look: look{color: ink, shape: cross}, point: true})
	if len(gaps) > 0 {
		f.legend = append(f.legend, entry{text: "nobody led: " + units.Plural(len(gaps), "gap"), look: look{color: alarm}, area: true})
	}
	f.legend = append(f.legend, bandEntries(f.bands)...)
	f.height = 185 + vg.Length(bandRows(f.bands))*(smallSize+4) + vg.Length(len(rows)+1)*rowHeight(len(rows))
	return f
}

// waits is the colour of standing in line.
var waits = palette[5]

// turns lists the leaders in their order, the same one once.
func turns(terms []Belief) string {
	var out []string
	last := -1
	for _, b := range terms {
		if b.Client != last {
			out = append(out, strconv.Itoa(b.Client))
		}
		last = b.Client
	}
	return strings.Join(out, ", ")
}

// leaderless returns the times between the terms, ordered by their start, in which
// nobody led.
func leaderless(terms []Belief, end time.Duration) []Belief {
	var gaps []Belief
	covered := terms[0].End
	for _, b := range terms[1:] {
		if b.Start > covered && covered < end {
			gaps = append(gaps, Belief{Client: -1, Start: covered, End: min(b.Start, end)})
		}
		covered = max(covered, b.End)
	}
	return gaps
}

func total(gaps []Belief) (sum time.Duration) {
	for _, g := range gaps {
		sum += g.End - g.Start
	}
	return sum
}

func candidates(line []Stand) []int {
	var rows []int
	for _, s := range line {
		rows = append(rows, s.Client)
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	return rows[:min(len(rows), holderRows)]
}

// termRows labels the candidates from the top, and nobody below them.
func (f *Figure) termRows(rows []int) {
	f.rowAxis(rows)
	y := &f.body.Y
	y.Min, f.yTitle = -1.5, "candidate"
	marks, _ := y.Tick.Marker.(ticks)
	y.Tick.Marker = append(marks, plot.Tick{Value: -1, Label: "nobody"})
}

// drill draws the bars.
type drill struct {
	rows  []int
	line  []Stand
	terms []Belief
	gaps  []Belief
	end   time.Duration
}

// Plot implements plot.Plotter.
func (m drill) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	row := map[int]vg.Length{-1: ty(-1)}
	for i, client := range m.rows {
		row[client] = ty(float64(len(m.rows) - 1 - i))
	}
	half := rowHeight(len(m.rows)) * 0.36
	c.StrokeLine2(stroke(grid, 0.8), c.Min.X, row[-1], c.Max.X, row[-1])
	m.bars(c, tx, row, half)
	sty := typeface(smallSize-2, ink)
	edge := c.Min.X // so that no label covers the one before
	for _, g := range m.gaps {
		c.SetColor(alarm)
		c.Fill(bar(tx, c, g.Start, g.End, row[-1], half, 2))
		label := units.Duration(float64(g.End - g.Start))
		x := place(tx, seconds(g.End), c) + 4
		if w := sty.Width(label); x >= edge && x+w <= c.Max.X {
			c.FillText(sty, vg.Point{X: x, Y: row[-1] - 4}, label)
			edge = x + w + 4
		}
	}
}

// bars draws the candidates' rows.
func (m drill) bars(c draw.Canvas, tx func(float64) vg.Length, row map[int]vg.Length, half vg.Length) {
	var lines, leads, crosses vg.Path
	for _, s := range m.line {
		y, shown := row[s.Client]
		if !shown {
			continue
		}
		lines = append(lines, bar(tx, c, s.From, s.To, y, 1.2, 1)...)
		if s.Left {
			crosses = cross.path(crosses, vg.Point{X: place(tx, seconds(s.To), c), Y: y}, 4)
		}
	}
	for _, b := range m.terms {
		if y, shown := row[b.Client]; shown && b.Start < m.end {
			leads = append(leads, bar(tx, c, b.Start, min(b.End, m.end), y, half, 1)...)
		}
	}
	for _, part := range []struct {
		path  vg.Path
		color int
	}{{lines, 5}, {leads, 0}} {
		if len(part.path) > 0 {
			c.SetColor(palette[part.color])
			c.Fill(part.path)
		}
	}
	if len(crosses) > 0 {
		c.SetColor(ink)
		c.Fill(crosses)
	}
}
