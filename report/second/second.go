// Package second checks mutual exclusion a second time, with porcupine, a linearizability checker.
// The verdict sweeps over the records and porcupine searches for an order, so the two share hardly any
// code. The memory of a search grows with the square of the history, so it checks windows only. Windows
// of every trial are checked while the trial is evaluated:
//
//	o := second.NewOpinions(h)
//	for n := range h.Records { o.Record(n) } // and each belief and overlap of the sweep
//	if against := o.Close(); against != "" { ... }
package second

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Opinion is the result of the search.
type Opinion struct {
	Result     string // verdict.Pass, Fail, or Unknown if it ran out of time
	Operations int

	model porcupine.Model
	info  porcupine.LinearizationInfo
}

// Limits on a window, and on the search.
const (
	windowLimit = 1000 // beliefs
	searchLimit = 10 * time.Second
)

type hold struct {
	client          int
	token           int64
	asked, from     time.Duration // taken somewhere between
	mayEnd, mustEnd time.Duration // and released somewhere between
	permits         int           // see facts.Permits
}

type act struct {
	take bool
	id   int // of the hold
	hold hold
}

// model is a lock: free (0), or held by one client.
var model = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, _ any) (bool, any) {
		a := input.(act)
		if a.take {
			return state.(int) == 0, a.id
		}
		return state.(int) == a.id, 0
	},
	DescribeOperation: func(input, _ any) string {
		a := input.(act)
		if a.take {
			return fmt.Sprintf("client %d took token %d", a.hold.client, a.hold.token)
		}
		return fmt.Sprintf("client %d released token %d", a.hold.client, a.hold.token)
	},
	DescribeState: func(state any) string {
		if state.(int) == 0 {
			return "free"
		}
		return fmt.Sprintf("held (%d)", state)
	},
}

// shared is the state of a lock that several may hold: the IDs of the holds, and their permits.
type shared struct {
	held  [(2*windowLimit + 63) / 64]uint64
	total int
}

func sharedModel(permits int) porcupine.Model {
	m := model
	m.Init = func() any { return shared{} }
	m.Step = func(state, input, _ any) (bool, any) {
		s, a := state.(shared), input.(act)
		word, bit := a.id/64, uint64(1)<<(a.id%64)
		if a.take {
			s.held[word], s.total = s.held[word]|bit, s.total+a.hold.permits
			return s.total <= permits, s
		}
		held := s.held[word]&bit != 0
		s.held[word], s.total = s.held[word]&^bit, s.total-a.hold.permits
		return held, s
	}
	m.DescribeState = func(state any) string { return fmt.Sprintf("%d permits held", state.(shared).total) }
	return m
}

// Search checks the beliefs that meet [from, to]. excuse is the time after a fault for which its
// victim may not know that it has lost the grant, if there are no commits.
func Search(h *history.History, from, to, excuse time.Duration) Opinion {
	return search(h, from, to, excuse, windowLimit)
}

func search(h *history.History, from, to, excuse time.Duration, limit int) Opinion {
	known := newKnown(h, excuse)
	var beliefs []lateBelief
	var youngest int64 // largest token so far
	tracker := facts.NewBeliefs(h.Header, func(b facts.Belief) {
		if b.Start <= to && b.End >= from && len(beliefs) < limit {
			beliefs = append(beliefs, lateBelief{b, b.OlderThan(youngest)})
		}
		youngest = max(youngest, b.Token)
	})
	var end time.Duration
	for n, err := range h.Records {
		if err != nil {
			break
		}
		end = max(end, n.Time())
		known.record(n)
		tracker.Add(n)
	}
	tracker.Close(end)
	return check(known.holds(beliefs), searchLimit, known.permits)
}

type lateBelief struct {
	facts.Belief
	late bool
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
func (k *known) holds(beliefs []lateBelief) []hold {
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
	h := hold{b.Client, b.Token, min(b.Call, b.Start), b.Start, b.End, b.End, b.Permits}
	if b.Restored {
		h.asked = b.Start
	}
	return h
}

// byCommits accounts for grants that the servers may have taken away at any time since the acquire,
// because they expired the session, or a fault closed it in the client's name or deleted the node;
// also before the client was notified of its reconnect.
func (k *known) byCommits(b lateBelief) hold {
	h := fullHold(b.Belief)
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
func (k *known) split(b lateBelief) []hold {
	whole := fullHold(b.Belief)
	for _, f := range k.faults {
		over, since := facts.FaultEnd(f), b.Start
		served := slices.Contains(f.Served, b.Client)
		if served && b.late || b.Restored {
			since = b.Call
		}
		if f.Client != b.Client && !served || f.Start > b.End || over < since || over < k.opened[b.Session] {
			continue
		}
		whole.mayEnd = max(b.Start, f.Start)
		if b.Restored && f.Start < b.Start {
			whole.asked, whole.mayEnd = f.Start, f.Start // it may have been lost before the reconnect was notified
		}
		if served && b.late {
			whole.mayEnd = max(whole.asked, f.Start) // it never held a grant that was notified so late
		}
		if excused := k.excused(b.Client, over); excused < b.End {
			excused = max(excused, b.Start)
			again := hold{b.Client, b.Token, excused, excused, b.End, b.End, b.Permits}
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

func check(holds []hold, limit time.Duration, permits int) Opinion {
	model := model
	if permits > 1 {
		model = sharedModel(permits)
	}
	var ops []porcupine.Operation
	slices.SortStableFunc(holds, func(a, b hold) int { return cmp.Compare(a.from, b.from) })
	for i, h := range holds {
		ops = append(ops,
			porcupine.Operation{ClientId: h.client, Input: act{true, i + 1, h}, Call: int64(h.asked), Return: int64(h.from)},
			porcupine.Operation{ClientId: h.client, Input: act{false, i + 1, h}, Call: int64(h.mayEnd), Return: int64(max(h.mayEnd, h.mustEnd))})
	}
	o := Opinion{Operations: len(ops), model: model}
	result, info := porcupine.CheckOperationsVerbose(model, ops, limit)
	o.info = info
	o.Result = map[porcupine.CheckResult]string{porcupine.Ok: verdict.Pass, porcupine.Illegal: verdict.Fail}[result]
	if o.Result == "" {
		o.Result = verdict.Unknown
	}
	return o
}

// Draw returns porcupine's visualization of the result, an HTML page.
func (o Opinion) Draw() ([]byte, error) {
	var page bytes.Buffer
	if err := porcupine.Visualize(o.model, o.info, &page); err != nil {
		return nil, fmt.Errorf("second opinion: %w", err)
	}
	return page.Bytes(), nil
}
