package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// stuck is the structural half of progress: what a snapshot of the line shows.
//
//   - Nobody gets on: clients wait and ask nothing, nobody holds, and every node in
//     line belongs to a client that is connected. Nothing that could change this is
//     still to come: no session is to expire, no notification is under way.
//   - A lost wake-up: a client waits and asks nothing, and has no watch that a change
//     in the line could fire.
//
// Whoever polls sleeps between two questions, and will ask again: neither is judged.
type stuck struct {
	faults Spans
	polls  bool
	kept   []lineSnapshot // those in which somebody waited
	judged int
}

type lineSnapshot struct {
	*history.Snapshot
	record int
	held   bool // somebody held meanwhile
}

// quiet is how long a line must have been observed before its stillness counts.
const quiet = time.Second

func newStuck(h *history.History) *stuck {
	return &stuck{faults: Aftermath(h, 0), polls: h.Header.Variant == Polling}
}

func (s *stuck) record(n history.Numbered) {
	l, ok := n.Record.(*history.Snapshot)
	if !ok || l.Queue || s.polls || s.faults.Touches(l.Asked, l.At) {
		return
	}
	s.judged++
	if len(l.Waiters) > 0 && l.At-l.Asked >= quiet {
		s.kept = append(s.kept, lineSnapshot{Snapshot: l, record: n.N})
	}
}

// belief keeps in mind that somebody held during a snapshot.
func (s *stuck) belief(b Belief) {
	for i := range s.kept {
		l := &s.kept[i]
		l.held = l.held || b.Start <= l.At && b.End >= l.Asked
	}
}

func (s *stuck) judge(broken *evidence) {
	for _, l := range s.kept {
		still := true
		for _, w := range l.Waiters {
			still = still && asleep(w)
			if asleep(w) && w.Watches != nil && *w.Watches == 0 {
				broken.add([]int{l.record},
					"client %d waited from %v to %v, asked nothing, and had no watch that a change in the line could fire (record %d): nobody will wake it",
					w.Client, l.Asked, l.At, l.record)
			}
		}
		// A node of a session that is nobody's any more will go when that expires.
		foreign := slices.ContainsFunc(l.Nodes, func(n history.SnapshotNode) bool { return n.Client < 0 && n.Session != 0 })
		if !still || l.held || foreign {
			continue
		}
		first := "the line was empty"
		line := slices.DeleteFunc(slices.Clone(l.Nodes), func(n history.SnapshotNode) bool { return n.Session == 0 }) // folders
		if len(line) > 0 {
			first = fmt.Sprintf("the first of %d nodes in line, %s, belongs to session %#x, which lives",
				len(line), line[0].Path, uint64(line[0].Session))
		}
		broken.add([]int{l.record}, "%s waited from %v to %v without a fault, nobody held, and nothing moved (record %d): %s",
			units.Plural(len(l.Waiters), "client"), l.Asked, l.At, l.record, first)
	}
}

// asleep says that the waiter did nothing during the snapshot, and that nothing came, nor
// could have.
func asleep(w history.Waiter) bool { return w.Moved == 0 && w.InFlight == 0 && !w.Behind }
