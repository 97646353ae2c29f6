package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// stuck is the structural half of progress: what the lab saw when it looked at the
// line for a while.
//
//   - Nobody gets on: clients wait and ask nothing, nobody holds, and every node in
//     line belongs to a client that is connected. Nothing that could change this is
//     still to come: no session is to expire, no notification is under way.
//   - A lost wake-up: a client waits and asks nothing, and has no watch that a change
//     in the line could fire.
type stuck struct {
	faults spans
	open   sight   // the look whose notes are coming in
	looks  []sight // that found somebody waiting
	judged int
}

// sight is one look at the line.
type sight struct {
	asked, at time.Duration
	nodes     []seenNode
	foreign   int // nodes of sessions that are nobody's any more: they will expire
	waiters   []waiter
	held      bool
	record    int
}

type waiter struct {
	client int
	record int
	still  bool // it did nothing, and nothing came
	blind  bool // nothing in the line can wake it
}

// quiet is how long a line must have been looked at before its stillness counts.
const quiet = time.Second

func newStuck(h *history.History) *stuck { return &stuck{faults: aftermath(h, 0)} }

func (s *stuck) record(n history.Numbered) {
	if n.Note == nil {
		return
	}
	switch n.Note.Kind {
	case history.Node:
		if n.Note.Client < 0 {
			s.open.foreign++
		}
		s.open.nodes = append(s.open.nodes, seenNode{n.Note.Path, n.Note.Session, n.N})
	case history.Waiter:
		c := n.Note.Counts
		_, told := c[history.CountWatches]
		still := c[history.CountMoved] == 0 && c[history.CountFlying] == 0
		s.open.waiters = append(s.open.waiters, waiter{n.Note.Client, n.N, still, told && c[history.CountWatches] == 0})
	case history.Looked:
		s.looked(n.Note, n.N)
	}
}

func (s *stuck) looked(n *history.Note, record int) {
	l := s.open
	s.open = sight{}
	l.asked, l.at, l.record = time.Duration(n.Counts[history.CountAsked]), n.At, record
	if n.Text == history.OfQueue || s.faults.touches(l.asked, l.at) {
		return
	}
	s.judged++
	if len(l.waiters) > 0 && l.at-l.asked >= quiet {
		s.looks = append(s.looks, l)
	}
}

// belief keeps in mind that somebody held during a look.
func (s *stuck) belief(b Belief) {
	for i := range s.looks {
		l := &s.looks[i]
		l.held = l.held || b.Start <= l.at && b.End >= l.asked
	}
}

func (s *stuck) judge(broken *evidence) {
	for _, l := range s.looks {
		still := true
		var records []int
		for _, w := range l.waiters {
			still = still && w.still
			records = append(records, w.record)
			if w.still && w.blind {
				broken.add(func() string {
					return fmt.Sprintf("client %d waited from %v to %v, asked nothing, and had no watch that a change in the line could fire (record %d): nobody will wake it",
						w.client, l.asked, l.at, w.record)
				}, w.record, l.record)
			}
		}
		if !still || l.held || l.foreign > 0 {
			continue
		}
		records = append(records, l.record)
		broken.add(func() string {
			first := "the line was empty"
			if len(l.nodes) > 0 {
				first = fmt.Sprintf("the first of %d nodes in line, %s, belongs to session %#x, which lives", len(l.nodes), l.nodes[0].path, uint64(l.nodes[0].session))
				records = append(records, l.nodes[0].record)
			}
			return fmt.Sprintf("%d clients waited from %v to %v without a fault, nobody held, and nothing moved (record %d): %s", len(l.waiters), l.asked, l.at, l.record, first)
		}, records...)
	}
}
