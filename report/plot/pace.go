package plot

import (
	"fmt"
	"image/color"
	"math"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

// ThroughputOverTime plots grants, or items taken, a second over the time of one
// trial, over shaded fault windows. It is nil where nothing was done, or where the lab
// set the pace.
func ThroughputOverTime(t Timeline, glyphs Glyphs) *Figure {
	k := paceSlices(t.Paces)
	if k == 0 {
		return nil
	}
	what := "grants"
	if t.Queue {
		what = "items taken"
	}
	from, to := math.Inf(1), math.Inf(-1)
	for _, p := range t.Paces {
		from, to = min(from, seconds(p.Start)), max(to, seconds(p.End))
	}
	f := t.overTime("throughput", "Throughput", "How many "+what+" a second; the axis begins at 0. Phases in which the harness sets the pace have no line.", from, to)
	f.addPaces(t.Paces, k, what+" per second, in steps of "+units.Tick(float64(k)*float64(report.PaceWidth)), glyphs.of(t.Label).color)
	f.yTitle = what + " per second (1/s)"
	f.data.y = what + ", 1/s"
	return f
}

// addPaces draws a line for each phase, in steps of k slices.
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
		f.stairs("", c, append(shown, end))
	}
	if drawn < of {
		text += fmt.Sprintf(" (%s steps, %s drawn, every extreme among them)", units.Number(float64(of)), units.Number(float64(drawn)))
	}
	f.legend = append(f.legend, entry{text: text, glyph: glyph{color: c}, line: true})
	axisFromZero(&f.body.Y, most, 0)
}

const (
	// pacePoints bounds the steps of one plot: more than there are pixels only make
	// the page slow.
	pacePoints = 1200
	// paceDone is how much should be done in a step: with less, chance alone makes the
	// line jump.
	paceDone = 25
)

// paceSlices is how many slices of a pace make a step of the line: narrow, so that a
// stall shows, but not so narrow that chance is all that shows. It is 0 where nothing
// was done.
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

// rates returns the start of each step of k slices, and what was done in it a second.
func rates(p report.Pace, k int) []xy {
	var out []xy
	for i := 0; i < len(p.Done); {
		next := i + k
		if len(p.Done)-next <= k/2 { // what is left is too short to stand alone
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
