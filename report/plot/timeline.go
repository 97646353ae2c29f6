package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"gonum.org/v1/plot"
)

// Timeline contains the data for the plots of one trial.
type Timeline struct {
	Trial   string // its name
	Label   string // its series, as in the other plots
	Clients int
	Promise time.Duration // the promised maximum of a failover; 0: none
	*report.Trace
}

func (t Timeline) clientCount() string {
	if t.Queue {
		return units.Plural(t.Clients, "consumer")
	}
	return units.Plural(t.Clients, "contender")
}

func (t Timeline) figure(kind, title, about string) *Figure {
	f := newFigure(kind+"-"+t.Trial, title, about)
	f.Trial, f.Clients = t.Trial, t.Clients
	return f
}

// overTime returns a figure of the trial between two times in seconds, with shaded fault windows.
func (t Timeline) overTime(kind, title, about string, from, to float64) *Figure {
	f := t.figure(kind, fmt.Sprintf("%s over time: %s, %s", title, t.Label, t.clientCount()), about+" Shaded: a fault was active.")
	f.bands = slices.DeleteFunc(bandsOf(t.Faults), func(b band) bool { return b.to < from || b.from > to })
	f.data.x = "seconds"
	secondsAxis(&f.body.X, from, to)
	f.body.Add(shading(f.bands), gridlines{y: true})
	return f
}

// addSteps adds a line of steps, and a legend entry if words is not empty.
func (f *Figure) addSteps(words string, c color.RGBA, pts []xy) {
	f.body.Add(line{at: steps(pts), style: stroke(c, 1.2)})
	if words != "" {
		f.legend = append(f.legend, entry{text: words, glyph: glyph{color: c}, line: true})
	}
}

func steps(pts []xy) (out []xy) {
	for i, q := range pts {
		if i > 0 {
			out = append(out, xy{q.x, pts[i-1].y})
		}
		out = append(out, q)
	}
	return out
}

// thin returns at most about limit points: for each slice of x the first, the lowest and the
// highest, so that no spike is lost. Points must be ordered by x.
func thin(pts []xy, limit int) []xy {
	if len(pts) <= limit || limit < 3 {
		return pts
	}
	slicesWanted := limit / 3
	from, to := pts[0].x, pts[len(pts)-1].x
	var out []xy
	for i := 0; i < len(pts); {
		n := sliceOf(pts[i].x, from, to, slicesWanted)
		first, low, high := i, i, i
		for ; i < len(pts) && sliceOf(pts[i].x, from, to, slicesWanted) == n; i++ {
			if pts[i].y < pts[low].y {
				low = i
			}
			if pts[i].y > pts[high].y {
				high = i
			}
		}
		kept := []int{first, low, high}
		slices.Sort(kept)
		for _, k := range slices.Compact(kept) {
			out = append(out, pts[k])
		}
	}
	return out
}

func sliceOf(x, from, to float64, n int) int {
	if to <= from {
		return 0
	}
	return min(int((x-from)/(to-from)*float64(n)), n-1)
}

func seconds(d time.Duration) float64 { return d.Seconds() }

func formatFixed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-") // no "-0.00"
	}
	return s
}

// Point is a run of a trend: a median and its confidence interval.
type Point struct {
	At                time.Time
	Median, Low, High float64 // Low and High are 0 if there is no interval
}

// Line is a series of a trend: one cell over several runs, by start time.
type Line struct {
	Label  string
	Points []Point
}

// Trend plots a measure over runs, by start time. unit is the unit of a metrics.Metric. It
// returns nil if there are no points.
func Trend(name, title, unit string, lines []Line, glyphs Glyphs) *Figure {
	title += unitSuffix(unit)
	f := newFigure("trend-"+name, title, "Each point is a run: the median of its trials, with its 95 % confidence interval if there are enough trials.")
	c := newCurves(f, len(lines), title)
	f.data.x = "start of the run, seconds since 1970"
	var starts []time.Time
	for _, l := range lines {
		var at []xy
		w := whiskers{lowest: "95 % from", highest: "95 % to"}
		for _, p := range l.Points {
			if !(p.Median > 0) || math.IsInf(p.Median, 0) {
				continue
			}
			starts = append(starts, p.At)
			x := unixSeconds(p.At)
			at = append(at, xy{x, p.Median})
			if p.Low > 0 {
				w.add(x, p.Low, p.High)
			}
		}
		if len(at) > 0 {
			c.add(curve{label: l.Label, glyph: glyphs.of(l.Label), at: at, line: at, size: glyphSize, whiskers: w})
		}
	}
	if c.drawn == 0 {
		return nil
	}
	timeAxis(&f.body.X, slices.MinFunc(starts, time.Time.Compare), slices.MaxFunc(starts, time.Time.Compare))
	tick := units.TickNumber
	f.yTitle = title + " (log scale)"
	if unit == "ns" {
		tick = units.Tick
		f.yTitle = title + " (log scale; each tick has its unit)"
	}
	logAxis(&f.body.Y, c.values, tick)
	return f
}

// unitSuffix returns the unit of a metrics.Metric as a suffix for the name of the measure: ", 1/s",
// ", per hand-off". It is empty for times, whose ticks contain "ms" or "s".
func unitSuffix(unit string) string {
	count, of, rate := strings.Cut(unit, "/")
	switch {
	case unit == "" || unit == "1" || unit == "ns":
		return ""
	case !rate || of == "s":
		return ", " + unit
	}
	if of == "handoff" {
		of = "hand-off"
	}
	if count == "1" {
		return ", per " + of
	}
	return ", " + count + " per " + of
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// timeAxis makes an axis linear, with labels that are dates, times if the range is less than two
// days, or both if a day has several ticks.
func timeAxis(a *plot.Axis, from, to time.Time) {
	low, high := unixSeconds(from), unixSeconds(to)
	if high-low < 600 {
		low, high = low-300, high+300
	}
	pad := (high - low) * 0.05
	a.Min, a.Max = low-pad, high+pad
	const marked, day = 6, 24 * 3600
	layout, label := "2006-01-02", "start of the run"
	switch {
	case high-low < 2*day:
		layout, label = "15:04", "start of the run, "+from.UTC().Format("2006-01-02")+" (UTC)"
	case high-low < marked*day:
		layout, label = "01-02 15:04", "start of the run, "+from.UTC().Format("2006")+" (UTC)"
	}
	a.Label.Text = label
	var out ticks
	for i := range marked {
		v := low + (high-low)*float64(i)/(marked-1)
		out = append(out, plot.Tick{Value: v, Label: time.UnixMilli(int64(v * 1000)).UTC().Format(layout)})
	}
	a.Tick.Marker = out
}
