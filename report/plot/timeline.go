package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"gonum.org/v1/plot/vg"
)

type Timeline struct {
	Trial   string // its name
	Label   string // its series, as in the other plots
	Clients int
	Promise time.Duration // the promised maximum of a failover; 0: none
	*report.Trace
}

func (t Timeline) figure(kind, title, about string) *Figure {
	f := newFigure(kind+"-"+t.Trial, title, about)
	f.Trial, f.Clients = t.Trial, t.Clients
	return f
}

// overTime returns a figure of the trial between two times in seconds, with shaded fault windows.
func (t Timeline) overTime(kind, title, about string, from, to float64) *Figure {
	noun := "contender"
	if t.Queue {
		noun = "consumer"
	}
	f := t.figure(kind, fmt.Sprintf("%s over time: %s, %s", title, t.Label, units.Plural(t.Clients, noun)), about+" Shaded: a fault was active.")
	f.bands = slices.DeleteFunc(bandsOf(t.Faults), func(b band) bool { return b.to < from || b.from > to })
	f.data.x = "seconds"
	secondsAxis(&f.body.X, from, to)
	f.body.Add(shading(f.bands), horizontalGrid())
	return f
}

// addSteps adds a line of steps, and a legend entry if text is not empty.
func (f *Figure) addSteps(text string, c color.RGBA, pts []xy) {
	f.body.Add(line{at: stepCurve(pts), style: stroke(c, 1.2)})
	if text != "" {
		f.legend = append(f.legend, legendEntry{text: text, glyph: glyph{color: c}, line: true})
	}
}

// stepPoints is the largest number of steps in one plot: more steps than pixels only make the page slow.
const stepPoints = 1200

func stepCurve(pts []xy) (out []xy) {
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
	sliceCount := limit / 3
	from, to := pts[0].x, pts[len(pts)-1].x
	var out []xy
	for i := 0; i < len(pts); {
		n := sliceOf(pts[i].x, from, to, sliceCount)
		first, low, high := i, i, i
		for ; i < len(pts) && sliceOf(pts[i].x, from, to, sliceCount) == n; i++ {
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

// HoldersAtOnce plots how many clients hold at the same time. It returns nil if at most one client may hold.
func HoldersAtOnce(t Timeline) *Figure {
	if t.Permits <= 1 || len(t.Holds) == 0 {
		return nil
	}
	kinds := map[bool]string{false: "hold", true: "read"}
	if slices.ContainsFunc(t.Holds, func(h report.Hold) bool { return h.Reads }) {
		kinds[false] = "write"
	}
	from, to := extent(t)
	f := t.overTime("holders", "Holders at once", "The number of clients that believe at the same time that they hold the grant.", from, to)
	most := 1.0
	for i, reading := range []bool{false, true} {
		line := holdersAtOnce(t.Holds, reading)
		if len(line) == 0 {
			continue
		}
		for _, q := range line {
			most = max(most, q.y)
		}
		line = slices.Concat([]xy{{from, 0}}, line, []xy{{to, 0}})
		f.data.add(kinds[reading], line)
		f.addSteps("clients that "+kinds[reading], palette[i], thin(line, stepPoints))
	}
	if t.Permits <= t.Clients {
		permits := float64(t.Permits)
		most = max(most, permits)
		f.body.Add(line{at: []xy{{from, permits}, {to, permits}}, style: dashed(ink, lineWidth)})
		f.legend = append(f.legend, legendEntry{text: units.Plural(t.Permits, "permit"), glyph: glyph{color: ink}, line: true, dash: true})
	}
	axisFromZero(&f.body.Y, most, 1)
	f.yTitle, f.data.y = "holders", "holders"
	return f
}

// holdersAtOnce returns the number of holders, or of readers if reading is set, after each change.
func holdersAtOnce(holds []report.Hold, reading bool) (out []xy) {
	type change struct {
		at time.Duration
		by float64
	}
	var all []change
	for _, h := range holds {
		if h.Reads == reading {
			all = append(all, change{h.Start, 1}, change{h.End, -1})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	n := 0.0
	for _, c := range all {
		n += c.by
		out = append(out, xy{seconds(c.at), n})
	}
	return out
}

// CountOverTime plots the largest count in each step of time, from the start of an observation.
func CountOverTime(name, title, what string, step time.Duration, most []int) *Figure {
	if len(most) == 0 || step <= 0 {
		return nil
	}
	f := newFigure(name, title, "The largest number of "+what+" in each "+units.Duration(float64(step))+".")
	var at []xy
	for i, n := range most {
		at = append(at, xy{seconds(time.Duration(i) * step), float64(n)})
	}
	end := seconds(time.Duration(len(most)) * step)
	f.data.x, f.data.y = "seconds", what
	f.data.add(what, at)
	secondsAxis(&f.body.X, 0, end)
	f.body.X.Label.Text = "seconds since the start"
	f.body.Add(horizontalGrid())
	f.addSteps("", palette[0], thin(append(at, xy{end, at[len(at)-1].y}), stepPoints))
	axisFromZero(&f.body.Y, float64(max(1, slices.Max(most))), 1)
	f.yTitle = what
	return f
}

// overTimePoints is the largest number of glyphs in one plot over time: more are not distinguishable.
const overTimePoints = 900

// OverTime plots the latency of each hand-off (of a queue: each delivery) at its end, with shaded faults.
func OverTime(t Timeline, glyphs Glyphs) *Figure {
	noun, latency, each := "hand-off", "hand-off latency", "Each point is a hand-off, shown at the time at which it ended."
	if t.Queue {
		noun, latency = "item", "delivery latency"
		each = "Each point is an item, shown at the time at which it was taken. Its latency is measured from the time at which it was due."
	}
	var plain, failover []xy
	var values []float64
	for _, h := range t.Handoffs {
		if h.Latency <= 0 {
			continue
		}
		q := xy{seconds(h.At), float64(h.Latency)}
		values = append(values, q.y)
		if h.Failover {
			failover = append(failover, q)
		} else {
			plain = append(plain, q)
		}
	}
	if len(values) == 0 {
		return nil
	}
	from, to := extent(t)
	pad := (to - from) * 0.012 // so that the first and last points do not touch the edges
	f := t.overTime("latency", units.Capital(latency), each, from-pad, to+pad)
	if t.IncompleteReason != "" {
		f.About += " The history is incomplete: " + units.Clean(t.IncompleteReason) + "."
	}
	logAxis(&f.body.Y, values, units.Tick)
	f.yTitle = latency + " (log scale)"
	f.data.y = latency + ", ns"
	f.addPoints(noun, plain, glyph{glyphs.of(t.Label).color, circle}, 2.4)
	f.addPoints("failover (a fault caused it)", failover, glyph{ink, triangle}, glyphSize)
	return f
}

func (f *Figure) addPoints(text string, pts []xy, l glyph, size vg.Length) {
	if len(pts) == 0 {
		return
	}
	slices.SortStableFunc(pts, func(a, b xy) int { return cmp.Compare(a.x, b.x) })
	shown := thin(pts, overTimePoints)
	f.data.add(text, pts)
	text += fmt.Sprintf(" (%s", units.Number(float64(len(pts))))
	if len(shown) < len(pts) {
		text += fmt.Sprintf(", %s shown, including every extreme", units.Number(float64(len(shown))))
	}
	f.legend = append(f.legend, legendEntry{text: text + ")", glyph: l, point: true})
	f.body.Add(points{at: shown, glyph: l, size: size})
}

func extent(t Timeline) (from, to float64) {
	var at []float64
	for _, h := range t.Handoffs {
		at = append(at, seconds(h.At))
	}
	for _, b := range t.Holds {
		at = append(at, seconds(b.Start), seconds(b.End))
	}
	for _, w := range t.Faults {
		at = append(at, seconds(w.Start), seconds(max(w.Start, w.End)))
	}
	return slices.Min(at), slices.Max(at)
}
