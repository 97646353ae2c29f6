package plot

import (
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

// Timeline contains the data for the plots of one trial.
type Timeline struct {
	Trial   string // its name
	Label   string // its series, as in the other plots
	Clients int
	Promise time.Duration // the promised maximum of a failover; 0: none
	*report.Trace
}

// clientCount returns the number of clients with their noun.
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
	f.bands = within(bandsOf(t.Faults), from, to)
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

// steps returns a line that stays level until the next point.
func steps(pts []xy) (out []xy) {
	for i, q := range pts {
		if i > 0 {
			out = append(out, xy{q.x, pts[i-1].y})
		}
		out = append(out, q)
	}
	return out
}

// thin keeps about limit points at most: for each slice of x the first, the lowest and the
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
