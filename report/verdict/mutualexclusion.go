package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// exclusion checks [MutualExclusion]: no two beliefs overlap that together exceed the permits.
//
// With commits, the belief whose node was removed first was wrong. The overlap is exposure,
// inherent in leases, if the servers had expired that client's session before the other was
// granted, or a fault had deleted its node as an operator does, and the client was not notified. Exposure
// is counted, and measured as belief.overlap. Every other overlap is a violation, which no fault excuses.
//
// Without commits, an overlap is exposure if a fault had affected the session of the older holder, and
// that holder was not notified yet; at most until it is connected again.
//
// Beliefs come in the order of their start, so only the few that have not ended can still overlap.
// Readers of a read-write lock, and holders of a semaphore's permits, do not exclude each other: together
// they may take all permits.
type exclusion struct {
	permits         int
	notifiesHolders bool                    // holders are notified of session events
	commits         *facts.NodeTable        // nil without commits
	faults          map[int][]history.Fault // by client
	excuse          time.Duration           // longest time after a fault for which its victim may not be notified
	openedAt        map[int64]time.Duration // by session: when it was opened
	lossReported    map[int64]time.Duration // by session: the client's last report of its loss
	reconnectedAt   map[int][]time.Duration // by client: when it reconnected
	beliefs         int
	active          []facts.Belief
	exposed         time.Duration
	exposure        int
	unsure          int            // overlaps of claims whose node is ambiguous in the commits
	missing         int            // violations that an unread commit might disprove
	lost            map[int]loss   // the last loss of which each client was notified
	acted           map[int64]bool // tokens with which a client wrote after its loss
	expired         map[int64]loss // by session: its expiry, of which the client received the message
	report          func(Overlap)

	broken evidence
}

// Overlap is a time in which two clients believed that they held. An overlap that begins as exposure and
// continues as violation is reported as two overlaps.
type Overlap struct {
	Older, Newer int // clients
	Start, End   time.Duration
	Exposure     bool
}

type loss struct {
	session int64
	at      time.Duration
	record  int
}

// defaultMaxSessionTimeout is the longest session timeout that ZooKeeper grants by default (20 ticks of 2 s), used
// if the history does not have the real one.
const defaultMaxSessionTimeout = 40 * time.Second

func newMutualExclusion(in *inputs) checker {
	x := &exclusion{
		permits: facts.Permits(in.history.Header), commits: in.commits, notifiesHolders: in.promises.Events, faults: facts.FaultsByClient(in.history), excuse: facts.MaxDetection(in.history), lost: map[int]loss{}, expired: map[int64]loss{}, lossReported: map[int64]time.Duration{},
		openedAt: map[int64]time.Duration{}, reconnectedAt: map[int][]time.Duration{}, acted: map[int64]bool{}, report: in.overlap,
	}
	if x.excuse == 0 {
		x.excuse = defaultMaxSessionTimeout + defaultMaxSessionTimeout/2 + facts.Margin
	}
	return checker{record: x.record, belief: x.belief, judgesTruncated: true, finish: x.finish}
}

func (x *exclusion) belief(b facts.Belief) {
	x.beliefs++
	x.checkBeliefAfterExpiry(b)
	x.active = slices.DeleteFunc(x.active, func(a facts.Belief) bool { return a.End <= b.Start })
	if total := b.Permits + totalPermits(x.active); total > x.permits {
		x.checkOverlaps(b)
	}
	x.active = append(x.active, b)
}

func totalPermits(all []facts.Belief) (total int) {
	for _, a := range all {
		total += a.Permits
	}
	return total
}

// checkOverlaps checks a belief that exceeds the permits together with the active ones: pair by pair if two
// exclude each other; otherwise it counts one overlap per excess permit, the longest exposures first.
func (x *exclusion) checkOverlaps(b facts.Belief) {
	var fitting []facts.Belief
	var found []overlapping
	for _, a := range x.active {
		until := min(a.End, b.End)
		if until <= b.Start {
			continue
		}
		if a.Permits+b.Permits > x.permits {
			x.recordOverlap(x.judge(a, b, until, nil))
		} else {
			fitting = append(fitting, a)
		}
	}
	excess := b.Permits + totalPermits(fitting) - x.permits
	if len(fitting) == 0 || excess <= 0 {
		return
	}
	for _, a := range fitting {
		found = append(found, x.judge(a, b, min(a.End, b.End), append(fitting, b)))
	}
	slices.SortStableFunc(found, func(p, q overlapping) int { return cmp.Compare(q.excused, p.excused) })
	for _, o := range found[:min(excess, len(found))] { // each client has one permit
		if o.excused < o.until && o.why != "" {
			var earlier []string
			for _, a := range fitting {
				earlier = append(earlier, strconv.Itoa(a.Client))
			}
			o.why = fmt.Sprintf("%d clients held a grant at once, with only %d permits (the earlier clients: %s); %s",
				len(fitting)+1, x.permits, strings.Join(earlier, ", "), o.why)
		}
		x.recordOverlap(o)
	}
}

// overlapping is a time in which two clients believed that they held, [b.Start, until]; a began
// earlier. Until excused it is exposure, from then on a violation.
type overlapping struct {
	a, b           facts.Belief
	until, excused time.Duration
	why            string // why the rest is a violation
	proof          int    // record of the fault that excused it; 0 for none
	unsure         bool   // the commits do not show which nodes were claimed
	missing        bool   // an unread commit might excuse it
}

func (x *exclusion) recordOverlap(o overlapping) {
	if o.unsure {
		x.unsure++
		return
	}
	a, b := o.a, o.b
	if o.excused > b.Start {
		end := min(o.until, o.excused)
		x.exposure++
		x.exposed += end - b.Start
		x.report(Overlap{a.Client, b.Client, b.Start, end, true})
	}
	if o.excused < o.until {
		if o.missing {
			x.missing++
		}
		x.report(Overlap{a.Client, b.Client, o.excused, o.until, false})
		x.broken.Add([]int{o.proof, a.Record, a.EndRecord, b.Record},
			"clients %d (token %d) and %d (token %d) both believed that they held the grant from %v to %v, records %d and %d: %s",
			a.Client, a.Token, b.Client, b.Token, b.Start, o.until, a.Record, b.Record, o.why)
	}
}

// judge checks the overlap of two beliefs. all are the beliefs that share the permits; nil if the two
// exclude each other.
func (x *exclusion) judge(a, b facts.Belief, until time.Duration, all []facts.Belief) overlapping {
	if x.commits != nil && a.Grant != nil && b.Grant != nil {
		return x.byCommits(a, b, until, all)
	}
	wrong, who := "client %d should have stopped", a.Client
	excused, cause := x.excused(a, b)
	if b.Outdated {
		wrong, who = "client %d was granted too late", b.Client
		if until, why := x.excused(b, a); until > excused {
			excused, cause = until, why
		}
	}
	o := overlapping{a: a, b: b, until: until, excused: max(excused, b.Start), proof: cause.N}
	why := "no fault had affected it"
	if cause.N > 0 {
		why = fmt.Sprintf("%s had affected it, but that excuses the overlap only until %v", cause.Fault, o.excused)
	}
	o.why = fmt.Sprintf(wrong, who) + ", and " + why
	return o
}

// byCommits checks the overlap of two beliefs by the commits: all of it is exposure, or none.
func (x *exclusion) byCommits(a, b facts.Belief, until time.Duration, all []facts.Belief) (o overlapping) {
	stale, good := a, b
	if removalZxid(b) < removalZxid(a) {
		stale, good = b, a
	}
	good = x.exceeding(stale, good, all)
	o = overlapping{a: a, b: b, until: until, excused: b.Start}
	reportedAt, reported := x.lossReported[stale.Session]
	switch n := stale.Grant.Node; {
	case a.Grant.Unsure || b.Grant.Unsure || good.Grant.Unsure, good.Grant.Notified && n != nil && n.RemovedZxid == good.Grant.Zxid+1:
		o.unsure = true
	case a.Grant.InvalidReason != "" || b.Grant.InvalidReason != "":
		who := a
		if a.Grant.InvalidReason == "" {
			who = b
		}
		o.why = fmt.Sprintf("the claim of client %d is not valid: %s", who.Client, who.Grant.InvalidReason)
		o.missing = who.Grant.Missing
	case n.RemovedZxid == 0 || n.RemovedZxid > good.Grant.Zxid:
		o.why = fmt.Sprintf("the node of client %d, %s, existed when client %d was granted", stale.Client, n.Path, good.Client)
		o.missing = true
	case n.Removal == facts.ByRequest:
		o.why = fmt.Sprintf("client %d had deleted its own node, %s, in transaction %#x", stale.Client, n.Path, uint64(n.RemovedZxid))
	case n.Removal == facts.ByAnother:
		o.why = fmt.Sprintf("another session had deleted the node of client %d, %s, in transaction %#x", stale.Client, n.Path, uint64(n.RemovedZxid))
	case n.Removal == facts.ByClose && !x.closedByFault(stale):
		o.why = fmt.Sprintf("client %d had closed its session itself, in transaction %#x", stale.Client, uint64(n.RemovedZxid))
	case stale.Session != 0 && reported && reportedAt <= stale.Start: // it knew: that is not exposure
		o.why = fmt.Sprintf("client %d had been notified at %v that its session %#x was lost, and accepted a grant of that session afterwards", stale.Client, reportedAt, uint64(stale.Session))
	default:
		o.excused = until
	}
	return o
}

// exceeding returns the belief whose grant exceeded the permits while the stale one had its node, by
// the commits; without any, the belief with the newest grant.
func (x *exclusion) exceeding(stale, good facts.Belief, all []facts.Belief) facts.Belief {
	for _, b := range all {
		if b.Grant == nil || b.Record == stale.Record {
			continue
		}
		at, taken := b.Grant.Zxid, 0
		for _, other := range all {
			if other.Grant != nil && other.Grant.Zxid <= at && removalZxid(other) > at {
				taken += other.Permits
			}
		}
		if taken > x.permits && stale.Grant.Zxid <= at && removalZxid(stale) > at {
			return b
		}
		if at > good.Grant.Zxid {
			good = b
		}
	}
	return good
}

// removalZxid returns the zxid at which the node of a belief was removed; forever if it was not.
func removalZxid(b facts.Belief) int64 {
	if n := b.Grant.Node; n != nil && n.RemovedZxid != 0 {
		return n.RemovedZxid
	}
	return int64(facts.Forever)
}

// closedByFault reports whether a fault closed, or may have closed, the session of a belief in its client's name
// before the belief ended.
func (x *exclusion) closedByFault(stale facts.Belief) bool {
	return slices.ContainsFunc(x.faults[stale.Client], func(w history.Fault) bool {
		return ClosesInItsName(w, stale.Client) && w.Start <= stale.End && w.Start >= x.openedAt[stale.Session]
	})
}

// ClosesInItsName reports whether a fault sends the request that closes the client's session. After any
// other fault that request is the client's own.
func ClosesInItsName(w history.Fault, client int) bool {
	return w.Fault == "session.close" && w.Client == client
}

// excused returns until when a fault that was injected before the good belief was granted excuses the
// stale one, and that fault; 0 without one. A fault excuses only a session that existed while the fault
// was active, and only until the client is connected again.
func (x *exclusion) excused(stale, good facts.Belief) (until time.Duration, cause history.Fault) {
	for _, w := range x.faults[stale.Client] {
		over, since := facts.FaultEnd(w), stale.Start
		if stale.Restored || stale.Outdated && w.Client != stale.Client {
			since = stale.Call // the grant is older than its notification, or a fault of the member delayed it
		}
		if w.Start > good.Start || over < since || over < x.openedAt[stale.Session] {
			continue
		}
		if end := min(facts.AddSaturating(over, x.excuse), x.reconnectedAfter(stale.Client, w)); end > until {
			until, cause = end, w
		}
	}
	return until, cause
}

// reconnectedAfter returns when the client is known to be connected again after a fault, and had time to check
// its grant; forever if unknown.
func (x *exclusion) reconnectedAfter(client int, w history.Fault) time.Duration {
	for _, at := range x.reconnectedAt[client] {
		if at >= facts.FaultEnd(w) {
			return facts.AddSaturating(at, grace)
		}
	}
	return facts.Forever
}

// checkBeliefAfterExpiry finds a belief that continues after the message of its session's expiry has reached the
// client.
func (x *exclusion) checkBeliefAfterExpiry(b facts.Belief) {
	l, ok := x.expired[b.Session]
	// A grant after the message is for claim-validity; a restored one is the same grant.
	if !ok || l.session == 0 || l.at < b.Start && !b.Restored {
		return
	}
	// A client that reported since then that it holds again, and did not retract that, believed it.
	reportedAt, reported := x.lossReported[b.Session]
	revived := b.Restored && b.Start > l.at && b.EndReason == facts.Released && !(reported && reportedAt >= b.Start && reportedAt <= b.Start+grace)
	if !revived && b.End <= l.at+grace {
		return
	}
	if revived {
		x.broken.Add([]int{l.record, b.Record, b.EndRecord},
			"client %d reported at %v (record %d) that its grant was restored, %v after the servers' notification that its session %#x had ended (record %d), and held token %d until %v",
			b.Client, b.Start, b.Record, b.Start-l.at, uint64(l.session), l.record, b.Token, b.End)
		return
	}
	x.broken.Add([]int{b.Record, l.record, b.EndRecord},
		"client %d held token %d until %v, %v after the servers' notification that its session %#x had ended (records %d and %d): it still believed that it held the lock",
		b.Client, b.Token, b.End, b.End-l.at, uint64(l.session), b.Record, l.record)
}

// record finds holders that act on a session that they know to be lost.
func (x *exclusion) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Session:
		switch r.Event {
		case history.Lost:
			x.lost[r.Client] = loss{r.Session, r.At, n.N}
			x.lossReported[r.Session] = r.At
		case history.Expired:
			if !x.notifiesHolders {
				return // it was not notified: its belief ends here, and the next write shows nothing
			}
			x.expired[r.Session] = loss{r.Session, r.At, n.N}
		case history.Opened:
			x.openedAt[r.Session] = r.At
			x.reconnectedAt[r.Client] = append(x.reconnectedAt[r.Client], r.At)
		case history.Restored:
			x.reconnectedAt[r.Client] = append(x.reconnectedAt[r.Client], r.At)
		}
	case *history.Sample:
		if r.Op == history.Write {
			x.checkWrite(r, n.N)
		}
	}
}

func (x *exclusion) checkWrite(s *history.Sample, record int) {
	l, ok := x.lost[s.Client]
	if l.session != s.Session {
		l, ok = x.expired[s.Session]
	}
	if !ok || l.session == 0 || s.Call <= l.at+grace || x.acted[s.Token] {
		return
	}
	x.acted[s.Token] = true // once is enough: an unaware holder continues
	x.broken.Add([]int{l.record, record},
		"client %d began a write under token %d at %v (record %d), %v after it was notified that its session %#x was lost (record %d): it still believed that it held the lock",
		s.Client, s.Token, s.Call, record, s.Call-l.at, uint64(l.session), l.record)
}

func (x *exclusion) finish(ending) Verdict {
	why := x.commits.IncompleteReason()
	switch {
	case why != "" && x.missing > 0 && x.missing == x.broken.Count:
		return unknown(fmt.Sprintf("two clients believed %d times that they held the grant at once, and the commits do not show why, possibly because %s", x.missing, why))
	case x.broken.Count > 0:
		return x.broken.Fail("violations")
	case x.beliefs == 0:
		return unknown("no client ever believed that it held a grant: there is nothing to check")
	case x.unsure > 0:
		return unknown(fmt.Sprintf("two clients believed %d times that they held the grant at once, but the commits do not show which nodes the clients claimed", x.unsure))
	case x.exposure > 0:
		return pass(fmt.Sprintf("%s, %v in all: the next client was granted before the holder had detected that its session had ended or that its node was deleted. A holder that stops when it is disconnected, and at its deadline, has shorter exposures; only fencing makes them harmless",
			units.Plural(x.exposure, "exposure"), x.exposed))
	}
	return pass()
}
