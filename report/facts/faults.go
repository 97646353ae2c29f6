package facts

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// Margin is added to every time limit, for stalls of the machine.
const Margin = 2 * time.Second

// Forever is later than any time of a trial.
const Forever = time.Duration(math.MaxInt64)

// MaxDetection returns how long ZooKeeper may take to detect a dead session and to grant the next
// client: the session timeout, rounded up to a tick twice (a tick is at most half the timeout), and
// a margin. For that long after a fault its victim may not know of it, and for that long a client may
// wait without a fault. It is 0 if the session timeout is unknown.
func MaxDetection(h *history.History) time.Duration {
	t := h.Timeout
	if t == 0 {
		t, _ = time.ParseDuration(h.Header.Params["session_timeout"])
	}
	if t <= 0 {
		return 0
	}
	return t + t/2 + Margin
}

// FaultEnd returns when a fault was healed; forever if that is not recorded.
func FaultEnd(w history.Fault) time.Duration {
	if w.End < w.Start {
		return Forever
	}
	return w.End
}

// AddSaturating returns t plus d, at most Forever.
func AddSaturating(t, d time.Duration) time.Duration {
	if t > Forever-d {
		return Forever
	}
	return t + d
}

// FaultWindows returns the times in which a fault was active, each extended by after, the time in which
// the ensemble may recover.
func FaultWindows(h *history.History, after time.Duration) Spans {
	var s Spans
	for _, w := range h.Faults {
		s = append(s, Span{w.Start, AddSaturating(FaultEnd(w), after)})
	}
	return Union(s)
}

// FaultsByClient returns the faults that hit each client, in order of their start. A client is also
// hit when its member is isolated from the others: the member still answers its pings, while the
// others expire its session.
func FaultsByClient(h *history.History) map[int][]history.Fault {
	out := map[int][]history.Fault{}
	for _, w := range h.Faults {
		if w.Client >= 0 {
			out[w.Client] = append(out[w.Client], w)
		}
		for _, c := range w.Served {
			out[c] = append(out[c], w)
		}
	}
	return out
}

// Spans is a set of times, as disjoint spans in order.
type Spans []Span

// Span is a time from one instant to another.
type Span struct{ From, To time.Duration }

// Touches reports whether any span meets [from, to].
func (s Spans) Touches(from, to time.Duration) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].To >= from })
	return i < len(s) && s[i].From <= to
}

// Gaps returns the parts of [from, to] that no span covers.
func (s Spans) Gaps(from, to time.Duration) Spans {
	var out Spans
	for _, w := range s {
		if w.To < from {
			continue
		}
		if w.From > to {
			break
		}
		if w.From > from {
			out = append(out, Span{from, w.From})
		}
		from = max(from, w.To)
	}
	if from < to {
		out = append(out, Span{from, to})
	}
	return out
}

// FindGap returns the first part of [from, to] that no span covers and that is longer than least, and
// whether there is one.
func (s Spans) FindGap(from, to, least time.Duration) (Span, bool) {
	for _, free := range s.Gaps(from, to) {
		if free.To-free.From > least {
			return free, true
		}
	}
	return Span{}, false
}

// LastGap returns the last part of a time that s does not cover, and whether it lasts until the time's end.
func (s Spans) LastGap(of Span) (last Span, reachesEnd bool) {
	parts := s.Gaps(of.From, of.To)
	if len(parts) == 0 {
		return Span{}, false
	}
	last = parts[len(parts)-1]
	return last, last.To == of.To
}

// Union returns the spans in order, with spans that meet joined.
func Union(s Spans) Spans {
	slices.SortFunc(s, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var out Spans
	for _, w := range s {
		if k := len(out); k > 0 && w.From <= out[k-1].To {
			out[k-1].To = max(out[k-1].To, w.To)
			continue
		}
		out = append(out, w)
	}
	return out
}
