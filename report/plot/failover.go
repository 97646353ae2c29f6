package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Failovers plots how long each failover took, one row a cause, over the time that
// was predicted. It is nil where there was none.
func Failovers(d Timeline) *Figure {
	rows := causesOf(d.Failovers)
	if len(rows) == 0 {
		return nil
	}
	f := d.figure("failover", "From the injection to the next grant: "+d.Label,
		"Each point is one failover. The bars are what ZooKeeper's own arithmetic allows: from what is left of the session timeout to the timeout, "+
			"rounded up to ticks, with the delay of a follower, and a margin for a busy machine.")
	end := seconds(d.Promise)
	for _, r := range rows {
		for _, x := range r.rounds {
			end = max(end, seconds(x.Latency), seconds(x.Most))
		}
	}
	f.Answer = true
	causeAxis(f, rows, end)
	f.data.x, f.data.y = "round", "seconds"
	for _, r := range rows {
		least, most := r.bounds()
		f.data.add(r.name+" (predicted)", []xy{{0, seconds(least)}, {0, seconds(most)}})
		var at []xy
		for _, x := range r.rounds {
			if !x.Never {
				at = append(at, xy{float64(x.Round), seconds(x.Latency)})
			}
		}
		f.data.add(r.name, at)
	}
	f.body.Add(gridlines{x: true}, predicted{rows})
	f.legend = append(f.legend, entry{text: "predicted", glyph: glyph{color: expected}, area: true})
	if slices.ContainsFunc(rows, func(r causeRow) bool { return r.mean() > 0 }) {
		f.legend = append(f.legend, entry{text: "predicted mean", glyph: glyph{color: faint}, line: true})
	}
	f.spots(rows)
	if d.Promise > 0 {
		f.body.Add(line{at: []xy{{seconds(d.Promise), -0.5}, {seconds(d.Promise), float64(len(rows)) - 0.5}}, style: dashed(alarm, lineWidth)})
		f.legend = append(f.legend, entry{text: "promise: " + units.Duration(float64(d.Promise)), glyph: glyph{color: alarm}, line: true, dash: true})
	}
	f.height = 165 + 34*vg.Length(len(rows))
	return f
}

// expected is the colour of what was predicted.
var expected = color.RGBA{0xd6, 0xe8, 0xf7, 0xff}

// causeRow is the rounds of one phase.
type causeRow struct {
	name   string
	rounds []metrics.Failover
}

// causesOf sorts rounds into rows, in the order in which they were run.
func causesOf(rounds []metrics.Failover) []causeRow {
	var out []causeRow
	for _, r := range rounds {
		i := slices.IndexFunc(out, func(c causeRow) bool { return c.name == r.Phase })
		if i < 0 {
			out, i = append(out, causeRow{name: r.Phase}), len(out)
		}
		out[i].rounds = append(out[i].rounds, r)
	}
	return out
}

// bounds are the widest that were predicted for the row's rounds.
func (r causeRow) bounds() (least, most time.Duration) {
	least = r.rounds[0].Least
	for _, x := range r.rounds {
		least, most = min(least, x.Least), max(most, x.Most)
	}
	return least, most
}

func (r causeRow) mean() time.Duration {
	var sum time.Duration
	for _, x := range r.rounds {
		sum += x.Mean
	}
	return sum / time.Duration(len(r.rounds))
}

func causeAxis(f *Figure, rows []causeRow, end float64) {
	secondsAxis(&f.body.X, 0, max(end, 0.001)*1.04)
	f.body.X.Label.Text = "seconds"
	y := &f.body.Y
	y.Min, y.Max, y.Padding = -0.5, float64(len(rows))-0.5, 0
	y.Tick.LineStyle.Width, y.Tick.Length = 0, 0
	var marks ticks
	for i, r := range rows {
		marks = append(marks, plot.Tick{Value: float64(len(rows) - 1 - i), Label: units.Short(units.Clean(r.name), 24)})
	}
	y.Tick.Marker = marks
}

// spots adds the points: those passed on, those kept, and those outside.
func (f *Figure) spots(rows []causeRow) {
	kinds := []struct {
		words string
		glyph glyph
		is    func(metrics.Failover) bool
	}{
		{"passed on", glyph{color: palette[0], shape: circle}, func(r metrics.Failover) bool { return !r.Kept && !r.Outside() }},
		{"the holder held on", glyph{color: palette[2], shape: diamond}, func(r metrics.Failover) bool { return r.Kept && !r.Outside() }},
		{"not as predicted", glyph{color: alarm, shape: cross}, metrics.Failover.Outside},
	}
	for _, k := range kinds {
		var at []xy
		for i, row := range rows {
			n := len(row.rounds)
			for j, r := range row.rounds {
				if k.is(r) && !r.Never {
					off := 0.5 * (float64(j)/float64(max(n-1, 1)) - 0.5) // so that equal ones do not hide each other
					at = append(at, xy{seconds(r.Latency), float64(len(rows)-1-i) + off})
				}
			}
		}
		if len(at) > 0 {
			f.body.Add(points{at: at, glyph: k.glyph, size: glyphSize})
			f.legend = append(f.legend, entry{text: fmt.Sprintf("%s (%d)", k.words, len(at)), glyph: k.glyph, point: true})
		}
	}
}

// predicted draws a bar for each row's bounds, and a line at its mean.
type predicted struct{ rows []causeRow }

// Plot implements plot.Plotter.
func (m predicted) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for i, r := range m.rows {
		y := float64(len(m.rows) - 1 - i)
		least, most := r.bounds()
		fillBox(c, expected, tx(seconds(least)), ty(y-0.38), max(tx(seconds(most)), tx(seconds(least))+2), ty(y+0.38))
		if mean := r.mean(); mean > 0 {
			x := tx(seconds(mean))
			c.StrokeLine2(stroke(faint, lineWidth), x, ty(y-0.38), x, ty(y+0.38))
		}
	}
}

// budgetRows bounds the bars of one picture; the rounds between the extremes are left
// out first.
const budgetRows = 30

// Budget plots what each failover consists of, one bar a round in which the session
// had to expire first. It is nil where there was none.
func Budget(d Timeline) *Figure {
	rounds := slices.DeleteFunc(slices.Clone(d.Failovers), func(r metrics.Failover) bool { return len(r.Stages) == 0 })
	if len(rounds) == 0 {
		return nil
	}
	left := max(0, len(rounds)-budgetRows)
	if left > 0 {
		slices.SortStableFunc(rounds, func(a, b metrics.Failover) int { return cmp.Compare(b.Latency, a.Latency) })
		rounds = slices.Delete(rounds, budgetRows/2, budgetRows/2+left)
		slices.SortStableFunc(rounds, func(a, b metrics.Failover) int { return cmp.Compare(a.At, b.At) })
	}
	f := d.figure("failover-budget", "What a failover consists of: "+d.Label,
		"Each bar is one failover, from the injection to the next grant. Nearly all of it is waiting for the session to expire; what the recipe adds is at the end of the bar.")
	if left > 0 {
		f.About += fmt.Sprintf(" Of %d failovers %d of middling length are left out.", len(rounds)+left, left)
	}
	end := 0.0
	rows := make([]causeRow, len(rounds))
	for i, r := range rounds {
		rows[i] = causeRow{name: fmt.Sprintf("%s %d", r.Phase, r.Round), rounds: []metrics.Failover{r}}
		end = max(end, seconds(r.Latency))
	}
	f.Answer = true
	causeAxis(f, rows, end)
	f.data.x, f.data.y = "round", "seconds"
	for _, r := range rounds {
		for _, name := range metrics.Stages {
			if d, ok := r.Stages[name]; ok {
				f.data.add(r.Phase+" "+stageWords[name], []xy{{float64(r.Round), seconds(d)}})
			}
		}
	}
	f.body.Add(gridlines{x: true}, stacks{rows})
	for i, name := range metrics.Stages {
		f.legend = append(f.legend, entry{text: stageWords[name] + typical(rounds, name), glyph: glyph{color: palette[i%len(palette)]}, area: true})
	}
	f.height = 205 + 17*vg.Length(len(rows))
	return f
}

// stageWords say what each stage waits for.
var stageWords = map[string]string{
	metrics.FailoverDetect: "session timeout left", metrics.FailoverExpire: "rounding to a tick", metrics.FailoverCommit: "commit",
	metrics.FailoverNotify: "notification", metrics.FailoverRelist: "next client",
}

// typical is the median of a stage, in brackets.
func typical(rounds []metrics.Failover, stage string) string {
	var all []time.Duration
	for _, r := range rounds {
		if d, ok := r.Stages[stage]; ok {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return " (not seen)"
	}
	slices.Sort(all)
	return " (" + strings.TrimSpace(units.Duration(float64(all[(len(all)-1)/2]))) + ")"
}

// stacks draws the stages of each row's round beside each other.
type stacks struct{ rows []causeRow }

// Plot implements plot.Plotter.
func (m stacks) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for i, r := range m.rows {
		y, at := float64(len(m.rows)-1-i), time.Duration(0)
		for k, name := range metrics.Stages {
			d := r.rounds[0].Stages[name]
			if d <= 0 {
				continue
			}
			fillBox(c, palette[k%len(palette)], tx(seconds(at)), ty(y-0.36), tx(seconds(at+d)), ty(y+0.36))
			at += d
		}
	}
}
