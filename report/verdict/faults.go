package verdict

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const Faults = "fault-proof"

func init() {
	register(Guarantee{
		Name: Faults, Rule: 12, Concerns: anyRecipe,
		Promise: "Every fault that was injected has shown its effect, and was healed.",
		Harm:    "The conditions of the test are unknown.",
		Help:    "a fault that could not be proven; the trial is unknown",
		check:   newFaults,
	})
}

// newFaults checks rule 12: without proof of a fault's effect it is unknown what the subject was
// tested with.
func newFaults(in *inputs) checker {
	h := in.history
	return checker{
		finish: func(ending) Verdict {
			var bare, not evidence
			for _, w := range h.Faults {
				if w.Proof != "" && w.Err == "" || w.CutShort { // its kind was proven before
					continue
				}
				of := &bare
				if w.Inapplicable {
					of = &not
				}
				of.add([]int{w.N}, "%s at %v (record %d): %s",
					history.Struck(w.Fault, w.Target), w.Start, w.N, cmp.Or(w.Err, "nothing proves its effect"))
			}
			switch {
			case len(h.Faults) == 0:
				return pass("no fault was injected")
			case bare.count == 0 && not.count > 0:
				return not.inapplicable()
			case bare.count == 0:
				return pass()
			}
			return bare.doubt("faults without proof")
		},
	}
}

const Played = "completed"

func init() {
	register(Guarantee{
		Name: Played, Rule: 12, Concerns: anyRecipe,
		Promise: "The trial ran to completion.",
		Harm:    "Parts of the scenario were not tested.",
		Help:    "a trial that could not start or complete; its result is unknown",
		check:   newPlayed,
	})
}

// newPlayed checks whether the trial ran to its end. Records before its end are evaluated in any
// case.
func newPlayed(*inputs) checker {
	var cut, not evidence
	return checker{
		record: func(n history.Numbered) {
			if u, ok := n.Record.(*history.Unplayed); ok {
				of := &cut
				if u.Inapplicable {
					of = &not
				}
				of.add([]int{n.N}, "%s (record %d, at %v)", u.Why, n.N, u.At)
			}
		},
		finish: func(ending) Verdict {
			switch {
			case cut.count == 0 && not.count > 0:
				return not.inapplicable()
			case cut.count == 0:
				return pass()
			}
			v := cut.doubt("reasons")
			v.Reasons = append(v.Reasons, "so the trial could not complete")
			return v
		},
	}
}

// grace is the time after the notification of a loss for which an act of the holder may have begun
// before it: the time between its check of the grant and the act, on a machine that stalls.
const grace = time.Second

// margin is added to every time limit, for stalls of the machine.
const margin = 2 * time.Second

const forever = time.Duration(math.MaxInt64)

// MaxDetection returns how long ZooKeeper may take to detect a dead session and to grant the next
// client: the session timeout, rounded up to a tick twice (a tick is at most half the timeout), and
// a margin. That long after a fault its victim may not know of it, and that long a client may wait
// without one. It is 0 if the session timeout is unknown.
func MaxDetection(h *history.History) time.Duration {
	t := h.Timeout
	if t == 0 {
		t, _ = time.ParseDuration(h.Header.Params["session_timeout"])
	}
	if t <= 0 {
		return 0
	}
	return t + t/2 + margin
}

// Ended returns when a fault was healed; forever if that is not recorded.
func Ended(w history.Fault) time.Duration {
	if w.End < w.Start {
		return forever
	}
	return w.End
}

func later(t, d time.Duration) time.Duration {
	if t > forever-d {
		return forever
	}
	return t + d
}

// FaultWindows returns the times in which a fault was active, and for a while after it, in which the
// ensemble may recover.
func FaultWindows(h *history.History, after time.Duration) Spans {
	var s Spans
	for _, w := range h.Faults {
		s = append(s, span{w.Start, later(Ended(w), after)})
	}
	return union(s)
}

// faultsByClient returns the faults that hit each client, in order of their start. A client is also
// hit when its member is isolated from the others: the member still answers its pings, while the
// others expire its session.
func faultsByClient(h *history.History) map[int][]history.Fault {
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
type Spans []span

type span struct{ from, to time.Duration }

// Touches reports whether any span meets [from, to].
func (s Spans) Touches(from, to time.Duration) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].to >= from })
	return i < len(s) && s[i].from <= to
}

// outside returns the parts of [from, to] that no span covers.
func (s Spans) outside(from, to time.Duration) Spans {
	var out Spans
	for _, w := range s {
		if w.to < from {
			continue
		}
		if w.from > to {
			break
		}
		if w.from > from {
			out = append(out, span{from, w.from})
		}
		from = max(from, w.to)
	}
	if from < to {
		out = append(out, span{from, to})
	}
	return out
}

// end returns the last part of the time, if no span covers its end.
func (s Spans) end(of span) (last span, free bool) {
	parts := s.outside(of.from, of.to)
	if len(parts) == 0 {
		return span{}, false
	}
	last = parts[len(parts)-1]
	return last, last.to == of.to
}

func union(s Spans) Spans {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out Spans
	for _, w := range s {
		if k := len(out); k > 0 && w.from <= out[k-1].to {
			out[k-1].to = max(out[k-1].to, w.to)
			continue
		}
		out = append(out, w)
	}
	return out
}
