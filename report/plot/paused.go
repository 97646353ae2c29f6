package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Pauses is the rounds of one series in which a holder's process was paused.
type Pauses struct {
	Label  string
	Rounds []metrics.Pause
}

// pauseRows bounds the rows of one picture; the rounds between the extremes are left out
// first.
const pauseRows = 40

// Paused plots what becomes of a holder whose process is stopped, a row a round: the pause,
// when its session expires, and when the next client holds. It is nil where there was none.
func Paused(all []Pauses) *Figure {
	f := pauseFigure("paused", "While the holder's process is stopped", all,
		"Each row is one round, from the signal to stop. The session expires meanwhile, and the next client holds; the process goes on soon after that, and believes until it is told.")
	if f == nil {
		return nil
	}
	rows := f.rows
	end := 0.0
	for _, r := range rows {
		end = max(end, seconds(r.Until))
	}
	secondsAxis(&f.body.X, 0, end*1.04)
	f.body.X.Label.Text, f.yTitle = "", "seconds since the signal to stop"
	f.data.y = "seconds"
	f.body.Add(gridlines{x: true})
	f.bars("process stopped", expected, 0.42, func(r metrics.Pause) (from, to time.Duration) { return 0, r.Resumed })
	f.bars("false belief", alarm, 0.2, func(r metrics.Pause) (from, to time.Duration) { return r.Granted, r.Until })
	f.spots("its session expired", glyph{color: palette[6], shape: diamond}, func(r metrics.Pause) []time.Duration {
		if r.Expired == 0 {
			return nil
		}
		return []time.Duration{r.Expired}
	})
	f.spots("the next client's grant", glyph{color: palette[2], shape: circle}, func(r metrics.Pause) []time.Duration {
		return []time.Duration{r.Granted}
	})
	return f.Figure
}

// Resumed plots what a holder does that goes on after a pause, a row a round: for how long it
// believes that it still holds, and what became of what it wrote. It is nil where there was
// none.
func Resumed(all []Pauses) *Figure {
	f := pauseFigure("resumed", "After the process goes on", all,
		"Each row is one round, from the signal to go on. The bar is for how long it believed that it still held. What it wrote before it was told, and what it was about to write when it was stopped, comes too late: the token stops it where a fence looks at tokens.")
	if f == nil {
		return nil
	}
	rows := f.rows
	scale := []float64{leastShown, 10}
	for _, r := range rows {
		scale = append(scale, sinceResumed(r.Pause, r.Until))
		for _, w := range r.Late {
			scale = append(scale, sinceResumed(r.Pause, w.At))
		}
	}
	logAxis(&f.body.X, scale, units.TickNumber)
	f.body.X.Min = leastShown
	f.yTitle = "milliseconds since the signal to go on (log scale)"
	f.data.y = "milliseconds"
	f.since = sinceResumed
	f.body.Add(gridlines{x: true})
	f.bars("believes that it holds", alarm, 0.2, func(r metrics.Pause) (from, to time.Duration) { return r.Resumed, r.Until })
	for _, kind := range []struct {
		words   string
		glyph   glyph
		fenced  bool
		outcome history.Outcome
	}{
		{"late write went through", glyph{color: palette[1], shape: cross}, false, history.OK},
		{"was refused", glyph{color: palette[6], shape: square}, false, history.Failed},
		{"got no answer", glyph{color: palette[0], shape: circle}, false, history.Unknown},
		{"passed the fence", glyph{color: palette[3], shape: cross}, true, history.OK},
		{"stopped by the token", glyph{color: palette[2], shape: diamond}, true, history.Failed},
		{"got no answer from the fence", glyph{color: palette[5], shape: circle}, true, history.Unknown},
	} {
		f.spots(kind.words, kind.glyph, func(r metrics.Pause) (at []time.Duration) {
			for _, w := range r.Late {
				if w.Fenced == kind.fenced && w.Outcome == kind.outcome {
					at = append(at, w.At)
				}
			}
			return at
		})
	}
	f.spots("never told", glyph{color: alarm, shape: triangle}, func(r metrics.Pause) (at []time.Duration) {
		if !r.Told {
			at = append(at, r.Until)
		}
		return at
	})
	return f.Figure
}

// leastShown is the least time that is told apart from 0 after the process has gone on, in
// milliseconds: an axis of powers has no 0.
const leastShown = 0.1

// sinceResumed is a time in milliseconds since the process went on.
func sinceResumed(r metrics.Pause, at time.Duration) float64 {
	return math.Max(leastShown, float64(at-r.Resumed)/float64(time.Millisecond))
}

// pauseRow is one round. label is set on the first of a series.
type pauseRow struct {
	metrics.Pause
	series, label string
}

// pauseFig is a figure of rounds in the making.
type pauseFig struct {
	*Figure
	rows  []pauseRow
	since func(metrics.Pause, time.Duration) float64 // where a time stands on the x axis
}

// pauseFigure is a figure with a row a round, or nil. Both figures have the same rows at the
// same heights, and what is along x stands above: they can be read side by side.
func pauseFigure(name, title string, all []Pauses, about string) *pauseFig {
	if len(all) == 0 {
		return nil
	}
	f := &pauseFig{Figure: newFigure(name, title, about), since: func(_ metrics.Pause, at time.Duration) float64 { return seconds(at) }}
	left := 0
	for _, p := range all {
		rounds := fewer(p.Rounds, max(2, pauseRows/len(all)))
		left += len(p.Rounds) - len(rounds)
		for i, r := range rounds {
			row := pauseRow{Pause: r, series: p.Label}
			if i == 0 {
				row.label = p.Label
			}
			f.rows = append(f.rows, row)
		}
	}
	if left > 0 {
		f.About += fmt.Sprintf(" %s of middling length %s left out.", units.Plural(left, "round"), map[bool]string{true: "is", false: "are"}[left == 1])
	}
	f.Answer = true
	f.data.x = "round"
	y := &f.body.Y
	y.Min, y.Max, y.Padding = -0.5, float64(len(f.rows))-0.5, 0
	y.Tick.LineStyle.Width, y.Tick.Length = 0, 0
	var marks ticks
	for i, r := range f.rows {
		marks = append(marks, plot.Tick{Value: f.y(i), Label: units.Short(units.Clean(r.label), 28)})
	}
	y.Tick.Marker = marks
	f.height = 165 + 15*vg.Length(max(len(f.rows), 3))
	return f
}

// fewer keeps at most limit rounds, those of extreme length.
func fewer(rounds []metrics.Pause, limit int) []metrics.Pause {
	if len(rounds) <= limit {
		return rounds
	}
	out := slices.SortedStableFunc(slices.Values(rounds), func(a, b metrics.Pause) int { return cmp.Compare(b.Until-b.Resumed, a.Until-a.Resumed) })
	out = slices.Delete(out, limit/2, limit/2+len(out)-limit)
	slices.SortStableFunc(out, func(a, b metrics.Pause) int { return cmp.Compare(a.Round, b.Round) })
	return out
}

// y is where the i-th row stands: the first on top.
func (f *pauseFig) y(i int) float64 { return float64(len(f.rows) - 1 - i) }

// bars draws a bar in each row, of that half height.
func (f *pauseFig) bars(words string, c color.RGBA, half float64, span func(metrics.Pause) (from, to time.Duration)) {
	b := spans{color: c, half: half}
	for i, r := range f.rows {
		from, to := span(r.Pause)
		b.add(f.since(r.Pause, from), f.since(r.Pause, to), f.y(i))
		f.data.add(r.series+": "+words, []xy{{float64(r.Round), f.since(r.Pause, to)}})
	}
	f.body.Add(b)
	f.legend = append(f.legend, entry{text: words, glyph: glyph{color: c}, area: true})
}

// spots draws points in the rows.
func (f *pauseFig) spots(words string, g glyph, of func(metrics.Pause) []time.Duration) {
	var at []xy
	for i, r := range f.rows {
		for _, t := range of(r.Pause) {
			at = append(at, xy{f.since(r.Pause, t), f.y(i)})
			f.data.add(r.series+": "+words, []xy{{float64(r.Round), f.since(r.Pause, t)}})
		}
	}
	if len(at) > 0 {
		f.body.Add(points{at: at, glyph: g, size: glyphSize})
		f.legend = append(f.legend, entry{text: fmt.Sprintf("%s (%d)", words, len(at)), glyph: g, point: true})
	}
}
