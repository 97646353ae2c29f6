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
		Promise: "While the ensemble serves and sessions live, somebody who waits is granted, or given an item.",
		Harm:    "The lock is free, or its holder does not know of it, or items are there, and everybody waits.",
		Help:    "nobody was granted, or given an item, although nothing was in the way",
		check:   newProgress,
	})
}

// progress judges rule 8. Where there are snapshots of the line and no fault was in
// force: by what stands in it, and what those in it wait for (stuck.go). Else by a time
// limit: where no fault is in force or just over, nobody may wait longer than a dead
// session needs to expire while nobody holds.
//
// Waiting is from the call of an acquire until it is granted: acquires that end without
// a grant, one after the other, are one wait; one that is still under way when its phase
// ends has waited so far. A phase in which somebody waited and nobody was granted, or
// that ended while nobody had been for longer than the limit, is unknown unless it fails,
// whatever other phases show (phases.go). Where clients go at their own pace, half the limit
// without a fault near is too long at its end, too: the phase was over before one could tell.
// And who is without a session waits, too, as far as the whole limit is concerned: it cannot call.
//
// A queue is judged by deliveries (queueprogress.go).
//
// Beliefs come late, in the order of their start, and the waits as they end.
// Only waits longer than half the limit are kept, until no idle time can meet them.
type progress struct {
	limit  time.Duration
	faults Spans // with the time to recover
	told   bool  // the subject says what becomes of its grants

	covered  time.Duration // up to here, idle times are known
	by       int           // record that ended the last belief
	waits    []wait        // long ones that have ended
	prune    int           // how many waits there may be before those are let go that are over
	trying   tries         // acquires that ended without a grant
	without  tries         // since when clients have been without a session
	idle     []idle        // long idle times without a fault
	phases   *phases
	silent   map[grantOf]Belief        // of a subject that tells its holders nothing: beliefs that ended with the servers' promise
	letGo    map[grantOf]time.Duration // and when one let go on a session that lived
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
	gone     bool // which is gone, with certainty
}

type idle struct {
	span
	most          time.Duration // that it may last
	phase         *phase        // that it has outlasted; nil for a time without a fault, whatever phase that is in
	calm          bool          // without a fault near, though it has outlasted a phase
	after, before int           // the records around it
	cited         bool          // it has broken the promise already
}

// tries are operations that ended without success, the last of each client: from the call of
// the first one until it returned.
type tries map[int]wait

// again is how soon an operation that has failed is called anew by a client that still waits.
const again = 2 * time.Second

// since is when a client that calls now has begun to wait.
func (t tries) since(client int, call time.Duration) time.Duration {
	if last, tried := t[client]; tried && call-last.to <= again {
		return last.from
	}
	return call
}

func newProgress(in *inputs) checker {
	p := &progress{limit: Patience(in.history), told: in.promises.Events, stuck: newStuck(in.history), phases: newPhases(in.history), trying: tries{}, without: tries{}, silent: map[grantOf]Belief{}, letGo: map[grantOf]time.Duration{}, prune: 64}
	p.faults = Aftermath(in.history, p.limit)
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

// tryMargin is how late a timed try may at least return: its last request may be held up.
const tryMargin = 1500 * time.Millisecond

// session takes in that a client has lost its session, or has one again.
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

// released keeps the release of a client that nobody tells what becomes of its grant, and whose
// session may have lived all the time.
func (p *progress) released(s *history.Sample) {
	if w, late := p.without[s.Client]; late && !p.told && !w.gone {
		p.letGo[grantOf{s.Client, s.Token}] = s.Return
	}
}

// heldOn takes in that a client held on through an outage: its belief was taken to end with the
// servers' promise, and it let go later on, in good order.
func (p *progress) heldOn() {
	for g, b := range p.silent {
		if at := p.letGo[g]; at > b.End {
			p.covered = max(p.covered, at)
			delete(p.silent, g)
			delete(p.letGo, g)
		}
	}
}

// waited compares a long wait with the idle times known so far, and keeps it
// for those that are not.
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
		"nobody held anything from %v to %v without a fault near, %v and more than the limit of %v, while client %d waited (record %d)",
		from, to, to-from, p.limit, w.client, w.record)
}

// cannotCall says that who is without a session waits as long as the idle time lasts.
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

// gap judges the idle time from the last belief's end until the instant.
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
		return unknown("the session timeout is not in the history: nobody can say how long is too long")
	}
	return p.phases.verdict("granted", p.limit, p.stuck.judged)
}
