package verdict

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// progress checks [Progress]. Snapshots of the line show whether its clients can make progress (see stuck),
// unless a fault is active. Otherwise there is a time limit: if no fault is active or recently over, no
// client may wait longer than a dead session needs to expire while no client holds.
//
// A wait is from the call of an acquire until it is granted: successive acquires that end without a
// grant are one wait; a wait that is in progress when its phase ends has waited so far. A phase in
// which a client waited and none was granted, or that ended after longer than the limit without a
// grant, is unknown unless it fails, regardless of other phases. If clients call at their
// own pace, half the limit without a fault nearby is too long at the end of a phase: the phase was over
// before the wait could be decided. A client without a session counts as waiting, but only against the full
// limit: it cannot call.
//
// A queue is evaluated by deliveries (queueprogress.go).
//
// Beliefs come late, in the order of their start, and waits as they end. Only waits longer than
// half the limit are kept, until no idle time can overlap them.
type progress struct {
	limit           time.Duration
	faults          facts.Spans // with the time to recover
	notifiesHolders bool        // the subject reports events of its grants

	covered         time.Duration // idle times are known until here
	endRecord       int           // record that ended the last belief
	waits           []wait        // long ones that have ended
	pruneThreshold  int           // number of waits above which old waits are dropped
	trying          tries         // acquires that ended without a grant
	noSession       tries         // since when clients have been without a session
	idle            []idle        // long idle times without a fault
	phases          *phases
	endedAtDeadline map[grantOf]facts.Belief  // of a subject that does not notify its holders: beliefs that ended at the deadline
	releasedAt      map[grantOf]time.Duration // and when one was released on a live session
	acquires        int
	stuck           *stuckChecker
	permits         int
	meeting         *barrierProgress // of a barrier
	ends            []time.Duration  // of a semaphore: until when its permits are in use, in their order
	granted         time.Duration    // start of the last belief
	unused          *time.Duration   // see addUse; since all permits were in use or a fault was near
	readers         *modeWaits       // of a read-write lock
	broken          evidence
	slow            evidence // waits that are longer than the limit, by the clock alone
	timerLateness   []string // why the clock proves nothing: the machine was too busy
	stuckOperations evidence // operations that did not return in time
	unservedRecord  int      // record of an episode's line in which not every client was granted in time
}

type grantOf struct {
	client int
	token  int64
}

type wait struct {
	client       int
	op, mode     string // of the operation that waited
	from, to     time.Duration
	record       int
	granted      bool
	inProgress   bool          // its phase ended before it
	free         time.Duration // see modeWaits.passed
	noSession    bool          // the client waited for a session, not for a grant
	sessionEnded bool          // known to be true
	closed       bool          // zkbench closed the session itself
	failed       int           // number of acquires that failed in succession, without timed and canceled ones
	failing      time.Duration // call of the first of them
	reported     bool          // the failures were reported already
}

// waitOf returns the time of an operation that returned, or that was in progress when its phase ended.
func waitOf(n history.Numbered) (w wait, ok bool) {
	switch r := n.Record.(type) {
	case *history.Sample:
		return wait{client: r.Client, op: r.Op, mode: r.Mode, from: r.Call, to: r.Return, record: n.N, granted: r.Outcome == history.OK}, true
	case *history.Waiting:
		return wait{client: r.Client, op: r.Op, mode: r.Mode, from: r.Call, to: r.At, record: n.N, inProgress: true}, true
	}
	return wait{}, false
}

type idle struct {
	facts.Span
	limit         time.Duration
	unused        *time.Duration // see addUse; nil for a time that is too long by itself
	phase         *phase         // the phase until whose end the idle time lasted, faults included; nil for a fault-free time in any phase
	faultFree     bool           // without a fault near, although it has outlasted a phase
	after, before int            // the records around it
	reported      bool           // as a finding
}

// tries are, by client, the last operations in succession that ended without success: from the call of
// the first until the last returned.
type tries map[int]wait

// maxRetryDelay is the maximum time after which a client that waits repeats a failed operation.
const maxRetryDelay = 2 * time.Second

// since returns when the client of an operation that was called at call began to wait.
func (t tries) since(client int, call time.Duration) time.Duration {
	if last, tried := t[client]; tried && call-last.to <= maxRetryDelay {
		return last.from
	}
	return call
}

func newProgress(in *inputs) checker {
	p := &progress{limit: facts.MaxDetection(in.history), notifiesHolders: in.promises.Events, stuck: newStuck(in.history), phases: newPhases(in.history), trying: tries{}, noSession: tries{}, endedAtDeadline: map[grantOf]facts.Belief{}, releasedAt: map[grantOf]time.Duration{}, pruneThreshold: 64, permits: 1, readers: &modeWaits{mode: facts.Reading}}
	if in.history.Header.Recipe == facts.Semaphore {
		p.permits = facts.Permits(in.history.Header)
	}
	p.faults = facts.FaultWindows(in.history, p.limit)
	if in.history.Header.Recipe == facts.Barrier {
		p.meeting = &barrierProgress{parties: in.history.Header.Clients, limit: p.limit}
	}
	queue := newDeliveries(in, p.phases)
	return checker{
		belief: p.belief,
		record: func(n history.Numbered) { p.record(n); queue.record(n) },
		finish: func(end ending) Verdict {
			if p.stuckOperations.Count > 0 {
				return p.stuckOperations.Fail("operations")
			}
			if p.acquires == 0 && queue.operations > 0 {
				return queue.finish(end, p.timerLateness)
			}
			return p.finish(end)
		},
	}
}

func (p *progress) record(n history.Numbered) {
	p.stuck.record(n)
	if w, ok := waitOf(n); ok {
		p.readers.add(w)
		p.meeting.add(w)
	}
	switch r := n.Record.(type) {
	case *history.Sample:
		p.checkReturn(r, n.N)
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
	case *history.Snapshot:
		if r.Unserved {
			p.unservedRecord = n.N
		}
	case *history.HarnessLoad:
		p.timerLateness = lateness(r)
	}
}

// checkReturn finds operations that return only because zkbench ends them, and acquires with a time limit that return
// long after their limit or give up before it.
func (p *progress) checkReturn(s *history.Sample, record int) {
	took := s.Return - s.Call
	switch late := max(s.Limit/2, tryMargin); {
	case s.Stuck:
		p.stuckOperations.Add([]int{record}, "client %d was notified that its session was lost during its %s called at %v (record %d). It sent no request afterwards, and the call had not returned when zkbench closed the client at %v: nothing would have woken the client",
			s.Client, s.Op, s.Call, record, s.Return)
	case s.TimedOut && took < s.Limit-s.Limit/10:
		p.stuckOperations.Add([]int{record}, "client %d's acquire with a time limit of %v gave up after %v (record %d)", s.Client, s.Limit, took.Round(time.Millisecond), record)
	case s.Limit > 0 && took > s.Limit+late:
		p.stuckOperations.Add([]int{record}, "client %d's acquire with a time limit of %v returned after %v (record %d)", s.Client, s.Limit, took.Round(time.Millisecond), record)
	}
}

// tryMargin is the minimum allowed delay of an acquire with a time limit: its last request may be delayed.
const tryMargin = 1500 * time.Millisecond

// session records that a client has lost its session, or has one again.
func (p *progress) session(e *history.Session, record int) {
	switch e.Event {
	case history.Lost, history.Expired, history.Deadline, history.Killed, history.Closed:
		w, already := p.noSession[e.Client]
		if !already {
			w = wait{client: e.Client, from: e.At, record: record, noSession: true}
		}
		w.sessionEnded = w.sessionEnded || e.Event != history.Deadline
		if e.Event == history.Closed {
			w.closed, w.to = true, e.At
		}
		p.noSession[e.Client] = w
	case history.Opened, history.Restored:
		if w, ok := p.noSession[e.Client]; ok {
			delete(p.noSession, e.Client)
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
	if gone := p.noSession[s.Client]; gone.closed && gone.to >= s.Call { // zkbench ended this acquire, and the close may take long
		w.to = min(w.to, gone.to)
	}
	if s.Outcome == history.OK {
		ph.done++
		ph.doneFaultFree = ph.doneFaultFree || !p.faults.Touches(s.Call, s.Return)
		delete(p.trying, s.Client)
		p.waited(w)
		return
	}
	last, tried := p.trying[s.Client]
	switch {
	case tried && last.from != w.from:
		p.waited(last)
	case tried:
		w.failed, w.failing, w.reported = last.failed, last.failing, last.reported
	}
	switch {
	case p.noSession[s.Client].closed: // zkbench ended this acquire
		w.failed = 0
	case s.Limit == 0 && !s.Canceled:
		if w.failed == 0 {
			w.failing = s.Call
		}
		w.failed++
	}
	w.reported = w.reported || p.checkFailures(w, s.Err)
	p.trying[s.Client] = w
}

// failureLimit is the number of successive failures from which on a client counts as unable to acquire.
const failureLimit = 3

// checkFailures reports a client whose acquires all fail for longer than the limit without a fault, while
// others may be granted.
func (p *progress) checkFailures(w wait, err string) bool {
	if p.limit == 0 || w.reported || w.failed < failureLimit {
		return false
	}
	free, long := p.faults.FindGap(max(w.from, w.failing), w.to, p.limit)
	if long {
		p.slow.Add([]int{w.record}, "client %d's acquires failed %d times in succession, from %v to %v without a fault, more than the limit of %v; the last (record %d): %s",
			w.client, w.failed, free.From, free.To, p.limit, w.record, err)
	}
	return long
}

// released records the release of a client that is not notified of events, and whose session may
// have lived all the time.
func (p *progress) released(s *history.Sample) {
	if w, late := p.noSession[s.Client]; late && !p.notifiesHolders && !w.sessionEnded {
		p.releasedAt[grantOf{s.Client, s.Token}] = s.Return
	}
}

// applyLateReleases records that a client held through an outage: its belief was taken to end at the deadline,
// and it released later.
func (p *progress) applyLateReleases() {
	for g, b := range p.endedAtDeadline {
		if at := p.releasedAt[g]; at > b.End {
			p.covered = max(p.covered, at)
			delete(p.endedAtDeadline, g)
			delete(p.releasedAt, g)
		}
	}
}

// waited compares a long wait with the idle times known so far, and keeps it for later ones.
func (p *progress) waited(w wait) {
	if p.limit == 0 || w.to-w.from <= p.limit/2 && (p.permits == 1 || w.to-w.from <= facts.Margin) {
		return
	}
	for i := range p.idle {
		p.checkIdle(&p.idle[i], w)
	}
	p.waits = append(p.waits, w)
}

func (p *progress) checkIdle(i *idle, w wait) {
	from, to := max(i.From, w.from), min(i.To, w.to)
	if i.reported || to-from <= i.limit || w.noSession && !i.cannotCall() {
		return
	}
	i.reported = true
	switch {
	case i.faultFree:
		i.phase.idleFaultFree = max(i.phase.idleFaultFree, to-from)
		return
	case i.phase != nil:
		i.phase.idleAtEnd = max(i.phase.idleAtEnd, to-from)
		return
	case i.unused != nil:
		if *i.unused += to - from; *i.unused > p.limit && *i.unused-(to-from) <= p.limit {
			p.slow.Add([]int{i.after, w.record, i.before},
				"fewer than %d clients held, without a fault, while others waited: the times without a grant, the last from %v to %v while client %d waited (record %d), add up to %v, more than the limit of %v",
				p.permits, from, to, w.client, w.record, *i.unused, p.limit)
		}
		return
	}
	resource := "the lock"
	if p.permits > 1 {
		resource = "a permit"
	}
	p.slow.Add([]int{i.after, w.record, i.before},
		resource+" was free from %v to %v without a fault, for %v, more than the limit of %v, while client %d waited (record %d)",
		from, to, to-from, p.limit, w.client, w.record)
}

// cannotCall reports whether a client without a session counts as waiting in the idle time.
func (i *idle) cannotCall() bool { return i.phase != nil && !i.phase.byHarness && !i.faultFree }

func (p *progress) belief(b facts.Belief) {
	p.stuck.belief(b)
	p.meeting.belief(b)
	p.applyLateReleases()
	p.checkGap(b.Start, b.Record)
	for _, ph := range p.phases.all {
		ph.held = ph.held || b.Start <= ph.over && b.End >= ph.start
	}
	if g := (grantOf{b.Client, b.Token}); b.EndReason == string(history.Deadline) && !p.notifiesHolders {
		p.endedAtDeadline[g] = b
	} else {
		delete(p.releasedAt, g)
	}
	if b.Permits > 1 {
		p.readers.busy = append(p.readers.busy, facts.Span{From: b.Call, To: b.End})
	}
	if end := p.addUse(b); end > p.covered {
		p.covered, p.endRecord = end, b.EndRecord
	}
	if len(p.waits) > p.pruneThreshold {
		p.waits = slices.DeleteFunc(p.waits, func(w wait) bool { return w.to <= p.covered })
		p.pruneThreshold = 64 + 2*len(p.waits)
	}
}

// addUse adds the use of a permit, and returns the time until which all are in use, or of the grant if not all are.
// If a client has not released, its permit is in use until its session has certainly ended.
//
// A permit of a semaphore that no client is ever granted does not stop the others, so that the times between two grants
// stay within the limit. As long as not all permits are in use, times that are too long for a hand-off (facts.Margin), and
// in which a client waits, are added up.
func (p *progress) addUse(b facts.Belief) time.Duration {
	if p.permits == 1 {
		return b.End
	}
	end := b.End
	if b.EndReason != facts.Released {
		end += p.limit
	}
	p.ends = slices.DeleteFunc(p.ends, func(end time.Duration) bool { return end <= b.Start })
	i, _ := slices.BinarySearch(p.ends, end)
	p.ends, p.granted = slices.Insert(p.ends, i, end), b.Start
	if i := len(p.ends) - p.permits; i >= 0 {
		return p.ends[i]
	}
	return b.Start
}

// checkGap checks the idle time from the last belief's end until the time.
func (p *progress) checkGap(until time.Duration, record int) {
	if p.unused == nil || p.covered > p.granted || p.faults.Touches(p.granted, until) {
		p.unused = new(time.Duration)
	}
	if p.permits > 1 && !p.faults.Touches(p.covered, until) {
		p.addIdle(idle{Span: facts.Span{From: p.covered, To: until}, limit: facts.Margin, unused: p.unused, after: p.endRecord, before: record})
	}
	if p.limit == 0 || until-p.covered <= p.limit/2 || p.meeting != nil {
		return
	}
	for _, free := range p.faults.Gaps(p.covered, until) {
		p.addIdle(idle{Span: free, limit: p.limit, after: p.endRecord, before: record})
	}
	for _, ph := range p.phases.all {
		if ph.over <= p.covered || ph.over > until {
			continue
		}
		p.addIdle(idle{Span: facts.Span{From: p.covered, To: ph.over}, limit: p.limit, phase: ph})
		if end, faultFree := p.faults.LastGap(facts.Span{From: p.covered, To: ph.over}); faultFree && !ph.byHarness {
			p.addIdle(idle{Span: end, limit: p.limit / 2, phase: ph, faultFree: true})
		}
	}
}

func (p *progress) addIdle(i idle) {
	if i.To-i.From <= i.limit {
		return
	}
	for _, w := range p.waits {
		p.checkIdle(&i, w)
	}
	p.idle = append(p.idle, i)
}

func (p *progress) finish(end ending) Verdict {
	for _, client := range slices.Sorted(maps.Keys(p.trying)) {
		p.waited(p.trying[client])
	}
	for _, client := range slices.Sorted(maps.Keys(p.noSession)) {
		w := p.noSession[client]
		w.to = end.at
		p.waited(w)
	}
	if !end.truncated {
		p.applyLateReleases()
		p.checkGap(end.at, 0)
		p.stuck.addFindings(&p.broken)
		for w, last := range p.readers.passed(p.faults, p.limit) {
			p.slow.Add([]int{w.record}, "client %d waited to read, from %v to %v (record %d), although for %v, the last time from %v to %v, no client wrote or waited to write, without a fault: more than the limit of %v",
				w.client, w.from, w.to, w.record, w.free, last.From, last.To, p.limit)
		}
		p.meeting.check(p.faults, &p.slow)
	}
	if v, found := passedOver(&p.broken, &p.slow, p.timerLateness, "periods without progress"); found {
		return v
	}
	if p.limit == 0 {
		return unknown("the session timeout is not in the history: the wait limit is unknown")
	}
	v := p.phases.verdict("granted", p.limit, p.stuck.snapshots)
	if v.Result == Pass && p.unservedRecord > 0 {
		return unknown(fmt.Sprintf("not every client was granted again after the fault (record %d), and no cause was found", p.unservedRecord))
	}
	return v
}

// passedOver returns the verdict on clients that were passed over, if any were. Findings by the clock
// alone are unknown if the harness's own timers were late.
func passedOver(broken, slow *evidence, late []string, what string) (v Verdict, found bool) {
	switch {
	case broken.Count > 0:
		broken.Merge(slow)
		return broken.Fail(what), true
	case slow.Count > 0 && len(late) > 0:
		return unknown(append(late, slow.Reasons...)...), true
	}
	return slow.Fail(what), slow.Count > 0
}

type phases struct {
	all    []*phase // in order of their start
	byName map[string]*phase
}

type phase struct {
	name          string
	byHarness     bool // the harness decides when clients call
	start, over   time.Duration
	tried         int           // acquires, or takes, including those in progress at its end
	done          int           // granted, or items taken
	doneFaultFree bool          // one of them without a fault near
	held          bool          // a client held a grant during it; for a queue: nothing was put
	put           bool          // items were put
	idleAtEnd     time.Duration // how long at its end nothing was granted while a client waited, if longer than the limit
	idleFaultFree time.Duration // the same without a fault near, if longer than half the limit
}

func newPhases(h *history.History) *phases {
	p := &phases{byName: map[string]*phase{}}
	for i := range h.Phases {
		x := &h.Phases[i]
		ph := &phase{name: x.Name, byHarness: x.Pace == history.ByHarness, start: x.Start, over: x.ActiveUntil()}
		if ph.over == 0 {
			ph.over = facts.Forever
		}
		p.all, p.byName[x.Name] = append(p.all, ph), ph
	}
	return p
}

func (p *phases) named(name string) *phase {
	ph := p.byName[name]
	if ph == nil {
		ph = &phase{name: name, over: facts.Forever}
		p.all, p.byName[name] = append(p.all, ph), ph
	}
	return ph
}

// verdict returns the worst verdict of all phases; what is "granted" or "taken". In a phase with faults
// all the time it is enough that the waiters progressed.
func (p *phases) verdict(what string, limit time.Duration, snapshots int) Verdict {
	var doubts []string
	done, faultFree := 0, false
	for _, ph := range p.all {
		done, faultFree = done+ph.done, faultFree || ph.doneFaultFree
		in := ""
		if ph.name != "" {
			in = fmt.Sprintf(" in phase %q", ph.name)
		}
		switch {
		case ph.idleAtEnd > 0:
			doubts = append(doubts, fmt.Sprintf("nothing was %s for the last %v%s, while a client waited or had no session. Without the faults and the recovery from them, that time does not exceed the limit of %v",
				what, ph.idleAtEnd.Round(time.Millisecond), in, limit))
		case ph.idleFaultFree > 0:
			doubts = append(doubts, fmt.Sprintf("nothing was %s for the last %v%s, without a fault, while a client waited: the phase ended too early to decide (the limit is %v)",
				what, ph.idleFaultFree.Round(time.Millisecond), in, limit))
		case ph.tried > 0 && ph.done == 0 && !ph.held:
			doubts = append(doubts, fmt.Sprintf("nothing was ever %s%s", what, in))
		}
	}
	switch {
	case done == 0 && len(doubts) == 0:
		return unknown("nothing was ever " + what)
	case len(doubts) > 0:
		return unknown(slices.Compact(doubts)...)
	case !faultFree:
		return pass(fmt.Sprintf("faults were active throughout; no client exceeded the wait limit, and no stuck client was found in %s of the line without faults", units.Plural(snapshots, "snapshot")))
	}
	return pass()
}
