package verdict

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const Progress = "progress"

func init() {
	register(Guarantee{
		Name: Progress, Rule: 8, Concerns: anyRecipe,
		Promise: "While the ensemble is available, waiting clients are granted, or given an item, within the limit.",
		Harm:    "Clients wait although the lock is free or items are available.",
		Help:    "no client was granted, or given an item, although nothing prevented it",
		check:   newProgress,
	})
}

// progress checks rule 8. With snapshots of the line and no fault active: by the nodes in it, and
// the needs of their clients (progress_snapshots.go). Otherwise by a time limit: with no fault active or
// recently over, no client may wait longer than a dead session needs to expire while no client
// holds.
//
// A wait is from the call of an acquire until it is granted: successive acquires that end without a
// grant are one wait; a wait that is in progress when its phase ends has waited so far. A phase in
// which a client waited and none was granted, or that ended after longer than the limit without a
// grant, is unknown unless it fails, regardless of other phases (phases.go). If clients go at their
// own pace, half the limit without a fault near is too long at its end: the phase was over before
// it could be decided. A client without a session counts as waiting, but only against the full
// limit: it cannot call.
//
// A queue is evaluated by deliveries (queueprogress.go).
//
// Beliefs come late, in the order of their start, and waits as they end. Only waits longer than
// half the limit are kept, until no idle time can overlap them.
type progress struct {
	limit  time.Duration
	faults Spans // with the time to recover
	told   bool  // the subject reports events of its grants

	covered  time.Duration // idle times are known until here
	by       int           // record that ended the last belief
	waits    []wait        // long ones that have ended
	prune    int           // number of waits from which on old ones are dropped
	trying   tries         // acquires that ended without a grant
	without  tries         // since when clients have been without a session
	idle     []idle        // long idle times without a fault
	phases   *phases
	silent   map[grantOf]Belief        // of a subject that does not notify its holders: beliefs that ended at the deadline
	letGo    map[grantOf]time.Duration // and when one was released on a live session
	acquires int
	stuck    *stuck
	broken   evidence
	endless  evidence // operations that did not return in time
}

// grantOf is a grant, by its client and token.
type grantOf struct {
	client int
	token  int64
}

type wait struct {
	client   int
	from, to time.Duration
	record   int
	without  bool // a session
	gone     bool // which certainly has ended
}

type idle struct {
	span
	most          time.Duration // longest allowed duration
	phase         *phase        // that it has outlasted; nil for a time without a fault, in any phase
	calm          bool          // without a fault near, although it has outlasted a phase
	after, before int           // the records around it
	cited         bool          // it has already broken the promise
}

// tries are operations that ended without success, the last of each client: from the call of the
// first one until it returned.
type tries map[int]wait

// again is the maximum time until a client that still waits calls a failed operation again.
const again = 2 * time.Second

// since returns when a client that calls now has begun to wait.
func (t tries) since(client int, call time.Duration) time.Duration {
	if last, tried := t[client]; tried && call-last.to <= again {
		return last.from
	}
	return call
}

func newProgress(in *inputs) checker {
	p := &progress{limit: MaxDetection(in.history), told: in.promises.Events, stuck: newStuck(in.history), phases: newPhases(in.history), trying: tries{}, without: tries{}, silent: map[grantOf]Belief{}, letGo: map[grantOf]time.Duration{}, prune: 64}
	p.faults = FaultWindows(in.history, p.limit)
	queue := newDeliveries(in, p.phases)
	return checker{
		belief: p.belief,
		record: func(n history.Numbered) { p.record(n); queue.record(n) },
		finish: func(end ending) Verdict {
			if p.endless.count > 0 {
				return p.endless.fail("operations")
			}
			if p.acquires == 0 && queue.operations > 0 {
				return queue.finish(end)
			}
			return p.finish(end)
		},
	}
}

func (p *progress) record(n history.Numbered) {
	p.stuck.record(n)
	switch r := n.Record.(type) {
	case *history.Sample:
		p.returned(r, n.N)
		switch {
		case r.Op == history.Acquire:
			p.acquired(r, n.N)
		case r.Op == history.Release && r.Outcome == history.OK:
			p.released(r)
		}
	case *history.Waiting:
		if r.Op == history.Acquire {
			p.acquires++
			p.phases.named(r.Phase).tried++
			p.waited(wait{client: r.Client, from: p.trying.since(r.Client, r.Call), to: r.At, record: n.N})
		}
	case *history.Session:
		p.session(r, n.N)
	}
}

// returned finds operations that return only because zkbench ends them, and timed tries that return
// long after their limit.
func (p *progress) returned(s *history.Sample, record int) {
	took := s.Return - s.Call
	switch late := max(s.Limit/2, tryMargin); {
	case s.Stuck:
		p.endless.add([]int{record}, "client %d was notified that its session was lost during its %s of %v (record %d), sent no request afterwards, and the %s did not return for another session timeout: nothing would have woken it",
			s.Client, s.Op, s.Call, record, s.Op)
	case s.Limit > 0 && took > s.Limit+late:
		p.endless.add([]int{record}, "client %d's acquire with a time limit of %v returned after %v (record %d)", s.Client, s.Limit, took.Round(time.Millisecond), record)
	}
}

// tryMargin is the minimum allowed delay of a timed try: its last request may be delayed.
const tryMargin = 1500 * time.Millisecond

// session records that a client has lost its session, or has one again.
func (p *progress) session(e *history.Session, record int) {
	switch e.Event {
	case history.Lost, history.Expired, history.Deadline, history.Killed, history.Closed:
		w, already := p.without[e.Client]
		if !already {
			w = wait{client: e.Client, from: e.At, record: record, without: true}
		}
		w.gone = w.gone || e.Event != history.Deadline
		p.without[e.Client] = w
	case history.Opened, history.Restored:
		if w, ok := p.without[e.Client]; ok {
			delete(p.without, e.Client)
			w.to = e.At
			p.waited(w)
		}
	}
}

func (p *progress) acquired(s *history.Sample, record int) {
	p.acquires++
	ph := p.phases.named(s.Phase)
	ph.tried++
	w := wait{client: s.Client, from: p.trying.since(s.Client, s.Call), to: s.Return, record: record}
	if s.Outcome == history.OK {
		ph.done++
		ph.calm = ph.calm || !p.faults.Touches(s.Call, s.Return)
		delete(p.trying, s.Client)
		p.waited(w)
		return
	}
	if last, tried := p.trying[s.Client]; tried && last.from != w.from {
		p.waited(last)
	}
	p.trying[s.Client] = w
}

// released records the release of a client that is not notified of events, and whose session may
// have lived all the time.
func (p *progress) released(s *history.Sample) {
	if w, late := p.without[s.Client]; late && !p.told && !w.gone {
		p.letGo[grantOf{s.Client, s.Token}] = s.Return
	}
}

// heldOn records that a client held through an outage: its belief was taken to end at the deadline,
// and it released later.
func (p *progress) heldOn() {
	for g, b := range p.silent {
		if at := p.letGo[g]; at > b.End {
			p.covered = max(p.covered, at)
			delete(p.silent, g)
			delete(p.letGo, g)
		}
	}
}

// waited compares a long wait with the idle times known so far, and keeps it for later ones.
func (p *progress) waited(w wait) {
	if p.limit == 0 || w.to-w.from <= p.limit/2 {
		return
	}
	for i := range p.idle {
		p.meet(&p.idle[i], w)
	}
	p.waits = append(p.waits, w)
}

func (p *progress) meet(i *idle, w wait) {
	from, to := max(i.from, w.from), min(i.to, w.to)
	if i.cited || to-from <= i.most || w.without && !i.cannotCall() {
		return
	}
	i.cited = true
	switch {
	case i.calm:
		i.phase.short = max(i.phase.short, to-from)
		return
	case i.phase != nil:
		i.phase.open = max(i.phase.open, to-from)
		return
	}
	p.broken.add([]int{i.after, w.record, i.before},
		"the lock was free from %v to %v without a fault, %v and more than the limit of %v, while client %d waited (record %d)",
		from, to, to-from, p.limit, w.client, w.record)
}

// cannotCall reports whether a client without a session counts as waiting in the idle time.
func (i *idle) cannotCall() bool { return i.phase != nil && !i.phase.byHarness && !i.calm }

func (p *progress) belief(b Belief) {
	p.stuck.belief(b)
	p.heldOn()
	p.gap(b.Start, b.Record)
	p.phases.held(b)
	if g := (grantOf{b.Client, b.Token}); b.Ended == string(history.Deadline) && !p.told {
		p.silent[g] = b
	} else {
		delete(p.letGo, g)
	}
	if b.End > p.covered {
		p.covered, p.by = b.End, b.EndRecord
	}
	if len(p.waits) > p.prune {
		p.waits = slices.DeleteFunc(p.waits, func(w wait) bool { return w.to <= p.covered })
		p.prune = 64 + 2*len(p.waits)
	}
}

// gap checks the idle time from the last belief's end until the time.
func (p *progress) gap(until time.Duration, record int) {
	if p.limit == 0 || until-p.covered <= p.limit/2 {
		return
	}
	for _, free := range p.faults.outside(p.covered, until) {
		p.idles(idle{span: free, most: p.limit, after: p.by, before: record})
	}
	for _, ph := range p.phases.endedIn(p.covered, until) {
		p.idles(idle{span: span{p.covered, ph.over}, most: p.limit, phase: ph})
		if end, calm := p.faults.end(span{p.covered, ph.over}); calm && !ph.byHarness {
			p.idles(idle{span: end, most: p.limit / 2, phase: ph, calm: true})
		}
	}
}

func (p *progress) idles(i idle) {
	if i.to-i.from <= i.most {
		return
	}
	for _, w := range p.waits {
		p.meet(&i, w)
	}
	p.idle = append(p.idle, i)
}

func (p *progress) finish(end ending) Verdict {
	for _, w := range p.trying {
		p.waited(w)
	}
	for _, w := range p.without {
		w.to = end.at
		p.waited(w)
	}
	if !end.cut {
		p.heldOn()
		p.gap(end.at, 0)
		p.stuck.judge(&p.broken)
	}
	switch {
	case p.broken.count > 0:
		return p.broken.fail("times without progress")
	case p.limit == 0:
		return unknown("the session timeout is not in the history: the wait limit is unknown")
	}
	return p.phases.verdict("granted", p.limit, p.stuck.judged)
}
