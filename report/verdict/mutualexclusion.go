package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const MutualExclusion = "mutual-exclusion"

func init() {
	register(Guarantee{
		Name: MutualExclusion, Rule: 4, Concerns: granting,
		Promise: "At any moment at most one client believes that it holds the lock, or leads; and nobody goes on believing after it has heard that its session is gone.",
		Harm:    "Two clients act at once on what the lock was to protect.",
		Help:    "two clients believed at the same time that they held",
		check:   newMutualExclusion,
	})
}

// exclusion judges rule 4: no two beliefs overlap. Where the older holder was
// hit by a fault and did not know yet, the overlap is exposure, inherent in leases:
// it is counted, and measured as belief.overlap, but breaks nothing.
//
// Beliefs come in the order of their start, so those that can still overlap are
// the few that have not ended.
type exclusion struct {
	faults   map[int][]history.Fault // by client
	excuse   time.Duration           // how long after a fault the victim may not know yet
	beliefs  int
	active   []claimed
	youngest int64 // token that was let in
	exposed  time.Duration
	exposure int
	lost     map[int]loss   // the last loss that was delivered to each client
	acted    map[int64]bool // tokens under which somebody wrote after that
	expired  map[int]loss   // and the last that has reached it on the wire
	late     func() int
	report   func(Overlap)

	broken evidence
}

// Overlap is a time in which two clients believed that they held. One that
// begins as exposure and goes on as violation is reported as two.
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

// silence is the longest session timeout that ZooKeeper grants by default (20
// ticks of 2 s), used where the history does not have the real one.
const silence = 40 * time.Second

func newMutualExclusion(in *inputs) checker {
	x := &exclusion{
		faults: faultsByClient(in.history), excuse: Patience(in.history), lost: map[int]loss{}, expired: map[int]loss{},
		acted: map[int64]bool{}, late: in.late, report: in.overlap,
	}
	if x.excuse == 0 {
		x.excuse = silence + silence/2 + margin
	}
	return checker{record: x.record, belief: x.belief, finish: x.finish}
}

// claimed is a belief; a late one began after somebody with a younger token had been
// let in. The servers let in one after the other, so it never held in truth.
type claimed struct {
	Belief
	late bool
}

func (x *exclusion) belief(next Belief) {
	x.beliefs++
	x.outlived(next)
	b := claimed{next, next.Token < x.youngest}
	x.youngest = max(x.youngest, b.Token)
	kept := x.active[:0]
	for _, a := range x.active {
		if a.End <= b.Start {
			continue
		}
		kept = append(kept, a)
		if until := min(a.End, b.End); until > b.Start {
			x.overlap(a, b, until)
		}
	}
	x.active = append(kept, b)
}

// overlap is [b.Start, until]; a is the belief that began earlier.
func (x *exclusion) overlap(a, b claimed, until time.Duration) {
	wrong, who := "client %d should have stopped", a.Client
	excused, cause := x.excused(a, b)
	if b.late {
		wrong, who = "client %d was let in too late", b.Client
		if until, why := x.excused(b, a); until > excused {
			excused, cause = until, why
		}
	}
	excused = max(excused, b.Start)
	if excused > b.Start {
		x.exposure++
		x.exposed += min(until, excused) - b.Start
		x.report(Overlap{a.Client, b.Client, b.Start, min(until, excused), true})
	}
	if until <= excused {
		return
	}
	x.report(Overlap{a.Client, b.Client, excused, until, false})
	why := "no fault had hit it"
	if cause.N > 0 {
		why = fmt.Sprintf("%s had hit it, but that excuses only until %v", cause.Fault, excused)
	}
	x.broken.add([]int{a.Record, a.EndRecord, b.Record, cause.N},
		"clients %d (token %d) and %d (token %d) both believed that they held the grant from %v to %v, records %d and %d: %s, and %s",
		a.Client, a.Token, b.Client, b.Token, b.Start, until, a.Record, b.Record, fmt.Sprintf(wrong, who), why)
}

// excused returns until when the stale belief is excused of overlapping the good one,
// and by which fault, injected before the good one was let in; 0 where it is not.
func (x *exclusion) excused(stale, good claimed) (until time.Duration, cause history.Fault) {
	for _, w := range x.faults[stale.Client] {
		over, since := ended(w), stale.Start
		if stale.late && w.Client != stale.Client {
			since = stale.Call // the member that served it was hit, and had it wait
		}
		if w.Start <= good.Start && over >= since && later(over, x.excuse) > until {
			until, cause = later(over, x.excuse), w
		}
	}
	return until, cause
}

// outlived finds a belief that goes on after the servers' word that its session
// is gone has reached the client.
func (x *exclusion) outlived(b Belief) {
	l, ok := x.expired[b.Client]
	if !ok || l.session != b.Session || l.at < b.Start || b.End <= l.at+grace {
		return
	}
	x.broken.add([]int{b.Record, l.record, b.EndRecord},
		"client %d held token %d until %v, %v after the servers' word that its session %#x was gone had reached it (records %d and %d): it still believed",
		b.Client, b.Token, b.End, b.End-l.at, uint64(l.session), b.Record, l.record)
}

// record finds holders that act on a session that they know to be lost.
func (x *exclusion) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Session:
		switch r.Event {
		case history.Lost:
			x.lost[r.Client] = loss{r.Session, r.At, n.N}
		case history.Expired:
			x.expired[r.Client] = loss{r.Session, r.At, n.N}
		}
	case *history.Sample:
		if r.Op == history.Write {
			x.written(r, n.N)
		}
	}
}

func (x *exclusion) written(s *history.Sample, record int) {
	l, ok := x.lost[s.Client]
	if !ok {
		l, ok = x.expired[s.Client]
	}
	if !ok || l.session == 0 || s.Session != l.session || s.Call <= l.at+grace || x.acted[s.Token] {
		return
	}
	x.acted[s.Token] = true // once is enough: a holder that does not know goes on and on
	x.broken.add([]int{l.record, record},
		"client %d began a write under token %d at %v (record %d), %v after it had heard that its session %#x was lost (record %d): it still believed",
		s.Client, s.Token, s.Call, record, s.Call-l.at, uint64(l.session), l.record)
}

func (x *exclusion) finish(time.Duration) Verdict {
	switch {
	case x.broken.count > 0 && x.late() > 0:
		return unknown(fmt.Sprintf("beliefs seem to overlap %d times, but %d records came more than %v late: their order is in doubt",
			x.broken.count, x.late(), reorder))
	case x.broken.count > 0:
		return x.broken.fail("violations")
	case x.beliefs == 0:
		return unknown("no grant was ever believed: there is nothing to judge")
	case x.exposure > 0:
		return pass(fmt.Sprintf("%d exposures, %v in all: a holder that a fault had hit did not know yet when the next was let in, which leases cannot prevent",
			x.exposure, x.exposed))
	}
	return pass()
}
