// Package second checks mutual exclusion a second time, with porcupine, a linearizability checker.
// The verdict sweeps over the records and porcupine searches for an order, so the two share hardly any
// code. The memory of a search grows with the square of the history, so it checks windows only, while the
// trial is evaluated:
//
//	o := second.NewSamplers(h)[0]
//	for n := range h.Records { o.Record(n) } // and each belief and overlap of the sweep
//	if contradiction := o.Close(); contradiction != "" { ... }
package second

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

type hold struct {
	client          int
	asked, from     time.Duration // taken somewhere between
	mayEnd, mustEnd time.Duration // and released somewhere between
	permits         int           // see facts.Permits
}

type act struct {
	take    bool
	id      int // of the hold
	permits int
}

// state is that of a lock: the holds that have it, as bits by ID, and their permits. A belief makes at most two
// holds, so the holds of a window have fewer IDs than there are bits.
type state struct {
	held  [2]uint64
	total int
}

// modelOf returns the model of a lock with so many permits.
func modelOf(permits int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(before, input, _ any) (bool, any) {
			s, a := before.(state), input.(act)
			word, bit := a.id/64, uint64(1)<<(a.id%64)
			if a.take {
				s.held[word], s.total = s.held[word]|bit, s.total+a.permits
				return s.total <= permits, s
			}
			held := s.held[word]&bit != 0
			s.held[word], s.total = s.held[word]&^bit, s.total-a.permits
			return held, s
		},
	}
}

type known struct {
	faults  []history.Fault
	excuse  time.Duration
	commits bool
	permits int
	ended   map[int64]bool          // by the commits: sessions that ended; true if expired, false if closed
	opened  map[int64]time.Duration // by session
	back    map[int][]time.Duration // by client: times of reconnecting
}

func newKnown(h *history.History, excuse time.Duration) *known {
	return &known{faults: h.Faults, excuse: excuse, commits: h.HasCommits, permits: facts.Permits(h.Header), ended: map[int64]bool{}, opened: map[int64]time.Duration{}, back: map[int][]time.Duration{}}
}

func (k *known) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Commit:
		if r.Op == history.CommitClose {
			k.ended[r.Session] = r.Cxid == 0
		}
	case *history.Session:
		if r.Event == history.Opened {
			k.opened[r.Session] = r.At
		}
		if r.Event == history.Opened || r.Event == history.Restored {
			k.back[r.Client] = append(k.back[r.Client], r.At)
		}
	}
}

// holds converts beliefs to times in which the client certainly held.
func (k *known) holds(beliefs []facts.Belief) []hold {
	var out []hold
	for _, b := range beliefs {
		switch {
		case b.Start >= b.End: // not a time in which a client held
		case k.commits:
			out = append(out, k.byCommits(b))
		default:
			out = append(out, k.split(b)...)
		}
	}
	return out
}

// fullHold returns a belief that was true from its beginning to its end.
func fullHold(b facts.Belief) hold {
	h := hold{b.Client, min(b.Call, b.Start), b.Start, b.End, b.End, b.Permits}
	if b.Restored {
		h.asked = b.Start
	}
	return h
}

// byCommits accounts for grants that the servers may have taken away at any time since the acquire,
// because they expired the session, or a fault closed it in the client's name or deleted the node;
// also before the client was notified of its reconnect.
func (k *known) byCommits(b facts.Belief) hold {
	h := fullHold(b)
	expired, ended := k.ended[b.Session]
	hit := func(does func(history.Fault) bool) bool {
		return slices.ContainsFunc(k.faults, func(f history.Fault) bool {
			return does(f) && f.Start <= b.End && f.Start >= k.opened[b.Session]
		})
	}
	closed := hit(func(f history.Fault) bool { return verdict.ClosesInItsName(f, b.Client) })
	deleted := hit(func(f history.Fault) bool {
		return f.Operator != 0 && f.Client == b.Client && facts.FaultEnd(f) >= b.Call
	})
	if expired || ended && closed || deleted {
		h.asked = min(b.Call, b.Start)
		h.mayEnd = h.asked
	}
	return h
}

// split accounts for a fault that may have taken the grant away at any time from its injection to
// the end of the excuse; a later belief must be a new, possibly wrong, grant.
func (k *known) split(b facts.Belief) []hold {
	whole := fullHold(b)
	for _, f := range k.faults {
		over, since := facts.FaultEnd(f), b.Start
		served := slices.Contains(f.Served, b.Client)
		if served && b.Outdated || b.Restored {
			since = b.Call
		}
		if f.Client != b.Client && !served || f.Start > b.End || over < since || over < k.opened[b.Session] {
			continue
		}
		whole.mayEnd = max(b.Start, f.Start)
		if b.Restored && f.Start < b.Start {
			whole.asked, whole.mayEnd = f.Start, f.Start // it may have been lost before the reconnect was notified
		}
		if served && b.Outdated {
			whole.mayEnd = max(whole.asked, f.Start) // it never held a grant that was notified so late
		}
		if excused := k.excused(b.Client, over); excused < b.End {
			excused = max(excused, b.Start)
			again := hold{b.Client, excused, excused, b.End, b.End, b.Permits}
			whole.mustEnd = excused
			return []hold{whole, again}
		}
		break
	}
	return []hold{whole}
}

// excused returns until when the victim of a fault that ended at over may not know of its loss.
func (k *known) excused(client int, over time.Duration) time.Duration {
	end := facts.AddSaturating(over, k.excuse)
	for _, at := range k.back[client] {
		if at >= over {
			return min(end, facts.AddSaturating(at, time.Second))
		}
	}
	return end
}

// check searches for an order of the holds in which no more permits are taken than there are. The result is
// unknown if the search takes longer than the limit.
func check(holds []hold, limit time.Duration, permits int) porcupine.CheckResult {
	var ops []porcupine.Operation
	slices.SortStableFunc(holds, func(a, b hold) int { return cmp.Compare(a.from, b.from) })
	for i, h := range holds {
		ops = append(ops,
			porcupine.Operation{ClientId: h.client, Input: act{true, i, h.permits}, Call: int64(h.asked), Return: int64(h.from)},
			porcupine.Operation{ClientId: h.client, Input: act{false, i, h.permits}, Call: int64(h.mayEnd), Return: int64(max(h.mayEnd, h.mustEnd))})
	}
	return porcupine.CheckOperationsTimeout(modelOf(permits), ops, limit)
}
