package plot

import (
	"fmt"
	"image/color"
	"math"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

// ThroughputOverTime plots grants, or items taken, per second over the time of one trial, with
// shaded fault windows. It returns nil if there were none while the clients set the pace.
func ThroughputOverTime(t Timeline, glyphs Glyphs) *Figure {
	k := paceSlices(t.Paces)
	if k == 0 {
		return nil
	}
	noun := "grants"
	if t.Queue {
		noun = "items taken"
	}
	from, to := math.Inf(1), math.Inf(-1)
	for _, p := range t.Paces {
		from, to = min(from, seconds(p.Start)), max(to, seconds(p.End))
	}
	f := t.overTime("throughput", "Throughput", "The number of "+noun+" per second; the axis begins at 0. Phases in which the harness sets the pace have no line.", from, to)
	f.addPaces(t.Paces, k, noun+" per second, in steps of "+units.Tick(float64(k)*float64(report.PaceWidth)), glyphs.of(t.Label).color)
	f.yTitle = noun + " per second (1/s)"
	f.data.y = noun + ", 1/s"
	return f
}

// addPaces adds a line for each phase, in steps of k slices.
func (f *Figure) addPaces(paces []report.Pace, k int, text string, c color.RGBA) {
	most, drawn, of := 0.0, 0, 0
	for _, p := range paces {
		all := rates(p, k)
		if len(all) == 0 {
			continue
		}
		f.data.add(text, all)
		shown := thin(all, pacePoints/len(paces))
		for _, q := range shown {
			most = math.Max(most, q.y)
		}
		drawn, of = drawn+len(shown), of+len(all)
		end := xy{seconds(p.End), shown[len(shown)-1].y}
		f.addSteps("", c, append(shown, end))
	}
	if drawn < of {
		text += fmt.Sprintf(" (%s steps, %s shown, including every extreme)", units.Number(float64(of)), units.Number(float64(drawn)))
	}
	f.legend = append(f.legend, entry{text: text, glyph: glyph{color: c}, line: true})
	axisFromZero(&f.body.Y, most, 0)
}

const (
	// pacePoints is the largest number of steps in one plot: more steps than pixels only make the
	// page slow.
	pacePoints = 1200
	// paceDone is the intended number of operations per step: with fewer, random variation
	// dominates the line.
	paceDone = 25
)

// paceSlices returns the number of slices per step of the line: few, so that a stall is visible,
// but enough that random variation does not dominate. It returns 0 if there were no operations.
func paceSlices(paces []report.Pace) int {
	done, span := 0, 0.0
	for _, p := range paces {
		span += seconds(p.End - p.Start)
		for _, n := range p.Done {
			done += n
		}
	}
	if done == 0 || !(span > 0) {
		return 0
	}
	width := math.Max(paceDone*span/float64(done), math.Min(1, span/300))
	width = math.Min(width, math.Max(1, span/20)) // the line must have some steps
	return max(1, int(math.Round(niceStep(width)/report.PaceWidth.Seconds())))
}

func rates(p report.Pace, k int) []xy {
	var out []xy
	for i := 0; i < len(p.Done); {
		next := i + k
		if len(p.Done)-next <= k/2 { // the rest is too short for a separate step
			next = len(p.Done)
		}
		done := 0
		for _, n := range p.Done[i:next] {
			done += n
		}
		from, to := p.Start+time.Duration(i)*report.PaceWidth, p.Start+time.Duration(next)*report.PaceWidth
		if next == len(p.Done) {
			to = max(p.End, from+1)
		}
		out = append(out, xy{seconds(from), float64(done) / seconds(to-from)})
		i = next
	}
	return out
}
