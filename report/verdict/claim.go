package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const ClaimValidity = "claim-validity"

func init() {
	register(Guarantee{
		Name: ClaimValidity, Rule: 1, Concerns: granting,
		Promise: "Whoever is granted something has a node in line that exists, that its own session owns, and before which nobody older stands.",
		Harm:    "The client believes in a grant that is not its own: it ends when another session ends, and the client does not learn of it.",
		Help:    "a grant whose node did not exist, was another session's, or not first",
		check:   newClaimValidity,
	})
}

// claims judges rule 1. By what the clients know: a grant names its node, its session
// and its token; the session is the one that the client has; and it is not claimed when
// the client knows that the session is lost. Where the observer has checked the node
// while the client held: it is there, its owner is that session, its czxid is the token,
// and nobody older stands in line. Where there are commits, every grant is looked up
// there: its node was created by its session, with its token as the czxid, and was the
// first of its line at some time before the client's last reply.
type claims struct {
	line     *line         // nil without commits
	open     []granted     // whose commits have not all come
	faults   Spans         // with the time to recover
	held     map[int]claim // the last grant of each client
	checked  int
	sessions map[int]*sessions
	judged   int
	unopened int // grants of clients whose session was never recorded
	missing  int // grants that a commit which was not read might bear out
	broken   evidence
}

// sessions is what one client has heard of its own.
type sessions struct {
	opened       int64 // the one it has
	openedAt     time.Duration
	openedRecord int
	previous     int64 // the one before
	lost         loss  // the last that was lost or closed
}

// claim is a grant that a check of its node can be compared with.
type claim struct {
	sample history.Sample
	record int
	doubt  bool // the client has heard something of its session since
}

func newClaimValidity(in *inputs) checker {
	c := &claims{sessions: map[int]*sessions{}, held: map[int]claim{}, faults: Aftermath(in.history, Patience(in.history)), line: in.line}
	return checker{record: c.record, finish: c.finish}
}

func (c *claims) record(n history.Numbered) {
	if len(c.open) > 0 {
		c.committed(false)
	}
	switch r := n.Record.(type) {
	case *history.ClaimCheck:
		c.check(r, n.N)
	case *history.Session:
		c.event(r, n.N)
	case *history.Sample:
		if r.Op == history.Acquire && r.Outcome == history.OK {
			c.judged++
			c.claim(r, n.N)
			if c.line != nil && r.Path != "" && r.Session != 0 && r.Token != 0 {
				c.open = append(c.open, granted{*r, n.N})
			}
			c.held[r.Client] = claim{sample: *r, record: n.N}
		}
	}
}

// check compares what was seen of a node with the claim. The client had not let go
// when the check was over.
func (c *claims) check(n *history.ClaimCheck, record int) {
	k, ok := c.held[n.Client]
	if !ok || k.sample.Path != n.Path || n.Asked < k.sample.Return {
		return
	}
	c.checked++
	s := k.sample
	var wrong string
	switch {
	case n.Token == 0 && (k.doubt || c.faults.Touches(s.Call, n.At)):
		return // the session may have died, and the client not know yet: exposure
	case n.Token == 0:
		wrong = "it was not there"
	case n.Session != s.Session:
		wrong = fmt.Sprintf("it belonged to session %#x", uint64(n.Session))
	case n.Token != s.Token:
		wrong = fmt.Sprintf("its czxid was %d", n.Token)
	case n.Ahead > 0:
		wrong = fmt.Sprintf("%d older nodes stood before it in line", n.Ahead)
	default:
		return
	}
	c.broken.add([]int{k.record, record},
		"client %d claimed token %d by node %s of session %#x at %v (record %d), but when the observer checked, at %v, %s (record %d)",
		s.Client, s.Token, s.Path, uint64(s.Session), s.Return, k.record, n.At, wrong, record)
}

func (c *claims) event(n *history.Session, record int) {
	switch n.Event {
	case history.Suspended, history.Lost, history.Killed, history.Closed, history.Deadline, history.Expired:
		if k, ok := c.held[n.Client]; ok {
			k.doubt = true
			c.held[n.Client] = k
		}
	}
	if n.Session == 0 {
		return
	}
	k := c.sessions[n.Client]
	if k == nil {
		k = &sessions{}
		c.sessions[n.Client] = k
	}
	switch n.Event {
	case history.Opened:
		k.previous, k.opened, k.openedAt, k.openedRecord = k.opened, n.Session, n.At, record
	case history.Lost, history.Closed:
		k.lost = loss{n.Session, n.At, record}
	}
}

func (c *claims) claim(s *history.Sample, record int) {
	if s.Path == "" || s.Session == 0 || s.Token == 0 {
		c.broken.add([]int{record},
			"client %d claims a grant without a node, a session or a token: path %q, session %#x, token %d (record %d)",
			s.Client, s.Path, uint64(s.Session), s.Token, record)
		return
	}
	k := c.sessions[s.Client]
	if k == nil || k.opened == 0 {
		c.unopened++
		return
	}
	if l := k.lost; l.session == s.Session && (s.Call > l.at || s.Return > l.at+grace) {
		c.broken.add([]int{l.record, record},
			"client %d was granted token %d at %v (record %d), %v after it had heard that session %#x was gone (record %d)",
			s.Client, s.Token, s.Return, record, s.Return-l.at, uint64(l.session), l.record)
		return
	}
	if s.Session == k.opened || s.Session == k.previous && s.Return <= k.openedAt+grace {
		return
	}
	c.broken.add([]int{k.openedRecord, record},
		"client %d claims a grant of session %#x (record %d), but its session is %#x (record %d): the grant is not its own",
		s.Client, uint64(s.Session), record, uint64(k.opened), k.openedRecord)
}

// granted is a grant whose node is to be looked up in the commits.
type granted struct {
	history.Sample
	record int
}

// known is the last transaction that the client can have known of when it was granted.
// ok is false while the commits have not come to the removal that it was notified of.
func (l *line) known(s *history.Sample) (zxid int64, ok bool) {
	n := l.nodes[s.Removed]
	switch {
	case s.Removed == "" || n == nil:
		return s.Zxid, true
	case n.gone == 0:
		return 0, false
	}
	return max(s.Zxid, n.gone), true
}

// committed judges the grants whose commits have come.
func (c *claims) committed(all bool) {
	later := c.open[:0]
	for _, g := range c.open {
		zxid, ok := c.line.known(&g.Sample)
		if !ok && !all {
			later = append(later, g)
			continue
		}
		if !ok {
			zxid = g.Zxid
		}
		c.lookUp(g, zxid)
	}
	c.open = later
}

// lookUp judges a grant by what the servers have committed, up to what its client knew.
func (c *claims) lookUp(g granted, zxid int64) {
	n := c.line.find(g.Path, g.Token)
	var wrong string
	switch {
	case n == nil:
		wrong = "no transaction created that node"
		c.missing++
	case n.session != g.Session:
		wrong = fmt.Sprintf("session %#x created that node", uint64(n.session))
	default:
		ahead := c.line.aheadOf(n, zxid)
		if ahead == nil {
			return
		}
		c.missing++
		wrong = fmt.Sprintf("the older node %s (czxid %#x) stood before it all the time", ahead.path, uint64(ahead.czxid))
	}
	c.broken.add([]int{g.record}, "client %d was granted token %#x by node %s of session %#x, knowing of no commit after %#x (record %d), but %s",
		g.Client, uint64(g.Token), g.Path, uint64(g.Session), uint64(zxid), g.record, wrong)
}

func (c *claims) finish(time.Duration) Verdict {
	why := ""
	if c.line != nil {
		c.committed(true)
		why = c.line.incomplete()
	}
	switch {
	case why != "" && c.missing > 0 && c.missing == c.broken.count:
		return unknown(fmt.Sprintf("the commits do not bear out %d of %d grants, but %s", c.missing, c.judged, why))
	case c.broken.count > 0:
		return c.broken.fail("invalid claims")
	case c.judged == 0:
		return unknown("nothing was granted: there is no claim to judge")
	case why != "":
		return unknown(why)
	case c.line != nil:
		return pass(fmt.Sprintf("all %d grants were found in the servers' commits", c.judged))
	case c.unopened > 0:
		return unknown(fmt.Sprintf("%d of %d grants belong to clients whose session was not recorded", c.unopened, c.judged))
	case c.checked > 0:
		return pass(fmt.Sprintf("%d of %d grants were checked in the tree", c.checked, c.judged))
	}
	return pass("no grant was checked in the tree: only what the clients knew is judged")
}
