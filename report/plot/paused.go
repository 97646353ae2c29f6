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

// Pauses contains the rounds of one series in which a holder's process was paused.
type Pauses struct {
	Label  string
	Rounds []metrics.Pause
}

// pauseRows is the largest number of rows in one figure; rounds between the extremes are omitted.
const pauseRows = 40

// Paused plots rounds in which the holder's process is paused, one row per round: the pause, the
// expiry of the session, and the next grant. It returns nil if there are no rounds.
func Paused(all []Pauses) *Figure {
	f := pauseFigure("paused", "While the holder's process is paused", all,
		"Each row is a round, from SIGSTOP. The session expires during the pause, and the grant passes to the next client. Soon after that the process resumes. It believes that it still holds the grant until it is notified of the loss.")
	if f == nil {
		return nil
	}
	rows := f.rows
	end := 0.0
	for _, r := range rows {
		end = max(end, seconds(r.Until))
	}
	secondsAxis(&f.body.X, 0, end*1.04)
	f.body.X.Label.Text, f.yTitle = "", "seconds since SIGSTOP"
	f.data.y = "seconds"
	f.body.Add(gridlines{x: true})
	f.bars("process paused", expected, 0.42, func(r metrics.Pause) (from, to time.Duration) { return 0, r.Resumed })
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

// Resumed plots the actions of a holder after a pause, one row per round: how long it believes that
// it still holds, and the outcomes of its writes. It returns nil if there are no rounds.
func Resumed(all []Pauses) *Figure {
	f := pauseFigure("resumed", "After the process resumes", all,
		"Each row is a round, from SIGCONT. The bar shows how long the client believed that it still held. Late writes are writes that it made before it was notified, or that were in progress when it was paused. A resource that checks tokens rejects them.")
	if f == nil {
		return nil
	}
	rows := f.rows
	scale := []float64{minMilliseconds, 10}
	for _, r := range rows {
		scale = append(scale, sinceResumed(r.Pause, r.Until))
		for _, w := range r.Late {
			scale = append(scale, sinceResumed(r.Pause, w.At))
		}
	}
	logAxis(&f.body.X, scale, units.TickNumber)
	f.body.X.Min = minMilliseconds
	f.yTitle = "milliseconds since SIGCONT (log scale)"
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
		{"late write accepted", glyph{color: palette[1], shape: cross}, false, history.OK},
		{"late write refused", glyph{color: palette[6], shape: square}, false, history.Failed},
		{"late write without reply", glyph{color: palette[0], shape: circle}, false, history.Unknown},
		{"fenced write accepted", glyph{color: palette[3], shape: cross}, true, history.OK},
		{"rejected by the token", glyph{color: palette[2], shape: diamond}, true, history.Failed},
		{"fenced write without reply", glyph{color: palette[5], shape: circle}, true, history.Unknown},
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
	f.spots("never notified", glyph{color: alarm, shape: triangle}, func(r metrics.Pause) (at []time.Duration) {
		if !r.Told {
			at = append(at, r.Until)
		}
		return at
	})
	return f.Figure
}

// minMilliseconds is the smallest time in milliseconds that is distinguished from 0, which a
// logarithmic axis does not have.
const minMilliseconds = 0.1

// sinceResumed returns the milliseconds from the resume of the process to at.
func sinceResumed(r metrics.Pause, at time.Duration) float64 {
	return math.Max(minMilliseconds, float64(at-r.Resumed)/float64(time.Millisecond))
}

type pauseRow struct {
	metrics.Pause
	series, label string
}

type pauseFig struct {
	*Figure
	rows  []pauseRow
	since func(metrics.Pause, time.Duration) float64 // returns the x of a time
}

// pauseFigure returns a figure with one row per round, or nil. Both figures have the same rows at
// the same heights, and the title of the x axis above, so that they can be read side by side.
func pauseFigure(name, title string, all []Pauses, about string) *pauseFig {
	if len(all) == 0 {
		return nil
	}
	f := &pauseFig{Figure: newFigure(name, title, about), since: func(_ metrics.Pause, at time.Duration) float64 { return seconds(at) }}
	omitted := 0
	for _, p := range all {
		rounds := dropMiddle(p.Rounds, max(2, pauseRows/len(all)))
		omitted += len(p.Rounds) - len(rounds)
		for i, r := range rounds {
			row := pauseRow{Pause: r, series: p.Label}
			if i == 0 {
				row.label = p.Label
			}
			f.rows = append(f.rows, row)
		}
	}
	if omitted > 0 {
		f.About += fmt.Sprintf(" %s of medium length %s omitted.", units.Plural(omitted, "round"), map[bool]string{true: "is", false: "are"}[omitted == 1])
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

// dropMiddle keeps at most limit rounds: the longest and the shortest.
func dropMiddle(rounds []metrics.Pause, limit int) []metrics.Pause {
	if len(rounds) <= limit {
		return rounds
	}
	out := slices.SortedStableFunc(slices.Values(rounds), func(a, b metrics.Pause) int { return cmp.Compare(b.Until-b.Resumed, a.Until-a.Resumed) })
	out = slices.Delete(out, limit/2, limit/2+len(out)-limit)
	slices.SortStableFunc(out, func(a, b metrics.Pause) int { return cmp.Compare(a.Round, b.Round) })
	return out
}

func (f *pauseFig) y(i int) float64 { return float64(len(f.rows) - 1 - i) }

// bars adds a bar to each row. half is half of its height.
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
