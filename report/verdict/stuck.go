package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// stuckChecker checks progress from snapshots of the line. Two states of a line are violations:
//
//   - No progress: clients wait without requests, no client holds, and every node in
//     line belongs to a connected client. No event that could change this is pending: no
//     session will expire, and no notification is in transit.
//   - A lost notification: a client waits without requests, and has no watch that a change
//     in the line could trigger.
//
// A polling client sleeps between two requests, so neither is evaluated for it.
type stuckChecker struct {
	faults      facts.Spans
	polls       bool
	parties     int            // of a barrier: fewer waiters than that wait for others
	withWaiters []lineSnapshot // snapshots in which a client waited
	snapshots   int
	disturbed   time.Duration // last operation of a client, session event or fault so far
}

type lineSnapshot struct {
	*history.Snapshot
	record int
	held   bool // a client held in the meantime
}

// quiet is the time for which a line must have been observed before it counts as idle.
const quiet = time.Second

func newStuck(h *history.History) *stuckChecker {
	s := &stuckChecker{faults: facts.FaultWindows(h, 0), polls: h.Header.Variant == Polling}
	if h.Header.Recipe == facts.Barrier {
		s.parties = h.Header.Clients
	}
	return s
}

func (s *stuckChecker) record(n history.Numbered) {
	l, ok := n.Record.(*history.Snapshot)
	switch r := n.Record.(type) {
	case *history.Sample:
		if r.Op == history.Acquire && r.Outcome == history.OK {
			s.granted(r)
		}
		s.disturbed = max(s.disturbed, r.Return)
	case *history.Session, *history.Waiting, *history.Window:
		s.disturbed = max(s.disturbed, n.Time())
	}
	if !ok || l.Queue || s.polls || s.faults.Touches(l.Asked, l.At) {
		return
	}
	s.snapshots++
	if len(l.Waiters) > 0 && l.At-l.Asked >= quiet {
		s.withWaiters = append(s.withWaiters, lineSnapshot{Snapshot: l, record: n.N})
	}
}

// granted drops the snapshots in which the client waited if nothing but time passed between them and its grant: a recipe
// may delay a grant.
func (s *stuckChecker) granted(a *history.Sample) {
	s.withWaiters = slices.DeleteFunc(s.withWaiters, func(l lineSnapshot) bool {
		return a.Call <= l.Asked && a.Return > l.At && s.disturbed <= l.At &&
			slices.ContainsFunc(l.Waiters, func(w history.Waiter) bool { return w.Client == a.Client })
	})
}

// belief records that a client held during a snapshot.
func (s *stuckChecker) belief(b facts.Belief) {
	for i := range s.withWaiters {
		l := &s.withWaiters[i]
		l.held = l.held || b.Start <= l.At && b.End >= l.Asked
	}
}

func (s *stuckChecker) addFindings(broken *evidence) {
	for _, l := range s.withWaiters {
		idle := true
		for _, w := range l.Waiters {
			idle = idle && asleep(w)
			if asleep(w) && w.Watches != nil && *w.Watches == 0 {
				broken.Add([]int{l.record},
					"client %d waited from %v to %v, sent no requests, and had no watch that a change in the line could trigger (record %d): nothing will wake it",
					w.Client, l.Asked, l.At, l.record)
			}
		}
		// A node whose session belongs to no client is removed when the session expires: the line may still change.
		foreign := slices.ContainsFunc(l.Nodes, func(n history.SnapshotNode) bool { return n.Client < 0 && n.Session != 0 })
		if !idle || l.held || foreign || len(l.Waiters) < s.parties {
			continue
		}
		first := "the line was empty"
		line := slices.DeleteFunc(slices.Clone(l.Nodes), func(n history.SnapshotNode) bool { return n.Session == 0 }) // folders
		if len(line) > 0 {
			first = fmt.Sprintf("the first of %d nodes in line, %s, belongs to session %#x, which is alive",
				len(line), line[0].Path, uint64(line[0].Session))
		}
		broken.Add([]int{l.record}, "%s waited from %v to %v without a fault, the lock was free, and the line did not change (record %d): %s",
			units.Plural(len(l.Waiters), "client"), l.Asked, l.At, l.record, first)
	}
}

// asleep reports whether the waiter did nothing during the snapshot, and nothing reached it.
func asleep(w history.Waiter) bool { return w.Moved == 0 && w.InFlight == 0 && !w.Behind }
