package plot

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/units"
)

// Timeline is what the plots over time need to know about one trial, folded from
// its history. All times count from the start of the run.
type Timeline struct {
	Trial    string // its name
	Label    string // its series, as in the other plots
	Clients  int
	Queue    bool      // its clients are consumers, and what they have is items
	Handoffs []Handoff // of a queue: deliveries, each from when the item was due until it was taken
	Paces    []Pace
	Windows  []Window
	Beliefs  []Belief
	Overlaps []Overlap
	Rounds   []Round // of successions
	Partial  string  // why the history is incomplete; empty when it is whole
}

// who counts the clients in the word for them.
func (t Timeline) who() string {
	if t.Queue {
		return units.Plural(t.Clients, "consumer")
	}
	return units.Plural(t.Clients, "contender")
}

// Handoff is one hand-off, placed at the time at which it ended.
type Handoff struct {
	At       time.Duration
	Latency  time.Duration
	Failover bool // a fault caused it
}

// Window is a fault and the time in which it was in force.
type Window struct {
	Fault, Target string
	Start, End    time.Duration
	Proven        bool
}

// Belief is the time in which a client believed that it held the grant.
type Belief struct {
	Client     int
	Start, End time.Duration
}

// Overlap is the time in which two clients believed so at once.
type Overlap struct {
	Clients    [2]int
	Start, End time.Duration
	Exposure   bool // inherent in leases, not a violation
}

// Round is one round of a succession: who stood in line, and who was made to leave.
type Round struct {
	Phase string // says how they were made to leave
	Line  []Stand
	End   time.Duration // of the round; 0 where it did not come to one
}

// Stand is a candidate's time in the line.
type Stand struct {
	Client   int
	From, To time.Duration // To is when it was made to leave, or the end of the round
	Left     bool          // it was made to leave
}

// thin keeps at most about limit points: of each slice of x the first, the lowest
// and the highest, so that no spike is lost. Points must be ordered by x.
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

// seconds is a time on the axes over time.
func seconds(d time.Duration) float64 { return d.Seconds() }

func formatFixed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-") // no "-0.00"
	}
	return s
}
