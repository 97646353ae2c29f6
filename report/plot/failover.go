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

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Failovers plots the duration of each failover, one row per cause, over the predicted range. It
// returns nil if there are no failovers.
func Failovers(d Timeline) *Figure {
	rows := causesOf(d.Failovers)
	if len(rows) == 0 {
		return nil
	}
	f := d.figure("failover", "From the injection to the next grant: "+d.Label,
		"Each point is a failover. The bars show the range that ZooKeeper's session expiry allows: from the remainder of the session timeout to the whole timeout, "+
			"rounded up to ticks, plus the delay of a follower and a margin for a busy machine.")
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

var expected = color.RGBA{0xd6, 0xe8, 0xf7, 0xff}

type causeRow struct {
	name   string
	rounds []metrics.Failover
}

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

// spots adds the points: hand-offs, rounds in which the holder kept its grant, and rounds outside
// the predicted range.
func (f *Figure) spots(rows []causeRow) {
	kinds := []struct {
		words string
		glyph glyph
		is    func(metrics.Failover) bool
	}{
		{"handed off", glyph{color: palette[0], shape: circle}, func(r metrics.Failover) bool { return !r.Kept && !r.Outside() }},
		{"kept by the holder", glyph{color: palette[2], shape: diamond}, func(r metrics.Failover) bool { return r.Kept && !r.Outside() }},
		{"outside the predicted range", glyph{color: alarm, shape: cross}, metrics.Failover.Outside},
	}
	for _, k := range kinds {
		var at []xy
		for i, row := range rows {
			n := len(row.rounds)
			for j, r := range row.rounds {
				if k.is(r) && !r.Never {
					off := 0.5 * (float64(j)/float64(max(n-1, 1)) - 0.5) // so that equal points do not hide each other
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

// predicted renders a bar for the bounds of each row, and a line at its mean.
type predicted struct{ rows []causeRow }

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

// budgetRows is the largest number of bars in one figure; rounds between the extremes are omitted.
const budgetRows = 30

// Budget plots the stages of each failover, one bar per round in which the session had to expire
// first. It returns nil if there is no such round.
func Budget(d Timeline) *Figure {
	rounds := slices.DeleteFunc(slices.Clone(d.Failovers), func(r metrics.Failover) bool { return len(r.Stages) == 0 })
	if len(rounds) == 0 {
		return nil
	}
	omitted := max(0, len(rounds)-budgetRows)
	if omitted > 0 {
		slices.SortStableFunc(rounds, func(a, b metrics.Failover) int { return cmp.Compare(b.Latency, a.Latency) })
		rounds = slices.Delete(rounds, budgetRows/2, budgetRows/2+omitted)
		slices.SortStableFunc(rounds, func(a, b metrics.Failover) int { return cmp.Compare(a.At, b.At) })
	}
	f := d.figure("failover-budget", "Stages of a failover: "+d.Label,
		"Each bar is a failover, from the injection to the next grant. Most of this time is the wait until the session expires; the recipe's own time is at the end of the bar.")
	if omitted > 0 {
		f.About += fmt.Sprintf(" Of %d failovers, %d of medium length are omitted.", len(rounds)+omitted, omitted)
	}
	end := 0.0
	rows := make([]causeRow, len(rounds))
	for i, r := range rounds {
		rows[i] = causeRow{name: fmt.Sprintf("%s %d", r.Phase, r.Round), rounds: []metrics.Failover{r}}
		end = max(end, seconds(r.Latency))
	}
	f.Answer = true
	var bars []stack
	for _, r := range rows {
		bar := stack{name: r.name}
		for _, name := range metrics.Stages {
			bar.parts = append(bar.parts, r.rounds[0].Stages[name])
		}
		bars = append(bars, bar)
	}
	causeAxis(f, rows, end)
	f.data.x, f.data.y = "round", "seconds"
	for _, r := range rounds {
		for _, name := range metrics.Stages {
			if d, ok := r.Stages[name]; ok {
				f.data.add(r.Phase+" "+stageWords[name], []xy{{float64(r.Round), seconds(d)}})
			}
		}
	}
	f.body.Add(gridlines{x: true}, stacks(bars))
	for i, name := range metrics.Stages {
		f.legend = append(f.legend, entry{text: stageWords[name] + medianOf(rounds, name), glyph: glyph{color: palette[i%len(palette)]}, area: true})
	}
	f.height = 205 + 17*vg.Length(len(rows))
	return f
}

var stageWords = map[string]string{
	metrics.FailoverDetect: "session timeout left", metrics.FailoverExpire: "rounding to a tick", metrics.FailoverCommit: "commit",
	metrics.FailoverNotify: "notification", metrics.FailoverRelist: "next client",
}

func medianOf(rounds []metrics.Failover, stage string) string {
	var all []time.Duration
	for _, r := range rounds {
		if d, ok := r.Stages[stage]; ok {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return " (not observed)"
	}
	slices.Sort(all)
	return " (" + strings.TrimSpace(units.Duration(float64(all[(len(all)-1)/2]))) + ")"
}

// stack is a bar of parts, one after the other.
type stack struct {
	name  string
	parts []time.Duration
}

// stacks renders stacked bars, the first at the top.
type stacks []stack

func (m stacks) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for i, bar := range m {
		y, at := float64(len(m)-1-i), time.Duration(0)
		for k, d := range bar.parts {
			if d <= 0 {
				continue
			}
			fillBox(c, palette[k%len(palette)], tx(seconds(at)), ty(y-0.36), tx(seconds(at+d)), ty(y+0.36))
			at += d
		}
	}
}

// HandoffStages plots the stages of a hand-off in the drain with the most contenders, one bar per
// subject: the median of each stage. It returns nil if no subject has stages.
func HandoffStages(s matrix.Scenario) *Figure {
	f := newFigure("handoff-stages", "Stages of a hand-off in a drain",
		"From the call to release until the next client's acquire returns, as seen on the wire: the median of each stage, with the most contenders. "+
			"The commit stage is the time of the ensemble; the release, reaction and grant stages are the time of the recipe.")
	var bars []stack
	var rows []causeRow
	end := 0.0
	f.data.x, f.data.y = "stage", "seconds"
	for _, x := range s.Series {
		parts, n := stagesOf(x)
		if parts == nil {
			continue
		}
		bar := stack{fmt.Sprintf("%s, %d", x.Label, n), parts}
		bars, rows = append(bars, bar), append(rows, causeRow{name: bar.name})
		total := 0.0
		var points []xy
		for i, d := range parts {
			total += seconds(d)
			points = append(points, xy{float64(i + 1), seconds(d)})
		}
		f.data.add(bar.name, points)
		end = max(end, total)
	}
	if len(bars) == 0 {
		return nil
	}
	causeAxis(f, rows, end)
	x, step := &f.body.X, niceStep(f.body.X.Max/8)
	x.Label.Text = "milliseconds"
	x.Tick.Marker = linearTicks(0, x.Max, step, func(v float64) string { return formatStep(1000*v, 1000*step) })
	f.body.Add(gridlines{x: true}, stacks(bars))
	for i, stage := range metrics.HandoffStages {
		f.legend = append(f.legend, entry{text: stage.Label, glyph: glyph{color: palette[i%len(palette)]}, area: true})
	}
	f.height = 205 + 17*vg.Length(len(bars))
	return f
}

// stagesOf returns the median of each stage in the series' trial with the most contenders, and their
// number; nil without stages.
func stagesOf(x matrix.Series) (parts []time.Duration, clients int) {
	for _, t := range x.Trials {
		if t.Clients <= clients {
			continue
		}
		if all := metrics.MedianStages(t.Metrics); all != nil {
			parts, clients = all, t.Clients
		}
	}
	return parts, clients
}
