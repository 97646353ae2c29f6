package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// claims checks [ClaimValidity]. According to the clients' events, a grant belongs to the client's current session, of
// whose loss the client was not notified before; and no grant is restored after its holder was notified
// of the loss.
//
// With commits, every grant is looked up: its node was created by its session, with its token as
// the czxid, and was the first of its line at some time before the client's last reply. A claim
// that names no node means the newest node of its session.
//
// Without commits, a grant names its node, its session and its token, and the observer has checked
// some of the nodes while the client held: the node exists, its owner is that session, its czxid is
// the token, and no older node is in line.
type claims struct {
	commits        *facts.NodeTable    // nil without commits
	faultEffects   map[int]facts.Spans // by client: faults that affected it, with the time in which it may not be notified
	lastGrants     map[int]*heldGrant  // by client
	inOrder        bool                // the subject promises order and exclusion
	checked        int
	sessions       map[int]*sessions
	open           map[int64]*sessions // by session: its client's sessions, until its end
	several        evidence            // grants of one of several open sessions of a client
	judged         int
	unchecked      int // grants without the data for a check
	unsure         int // grants whose node is ambiguous in the commits
	missing        int // findings that an unread commit might disprove
	broken         evidence
	withoutSession evidence // grants of clients that have opened no session
}

type sessions struct {
	opened       int64 // the current one
	openedAt     time.Duration
	openedRecord int
	previous     int64 // the previous one
	lost         loss  // of the last session that was lost or closed
	notified     loss  // the last loss of which the client was notified, until its next grant
}

// heldGrant is a grant, kept to be compared with a check of its node.
type heldGrant struct {
	sample    history.Sample
	record    int
	mayBeLost bool // the client has received a session event since
}

func newClaimValidity(in *inputs) checker {
	c := &claims{sessions: map[int]*sessions{}, open: map[int64]*sessions{}, commits: in.commits, inOrder: in.promises.FIFO && in.promises.Exclusive && facts.Permits(in.history.Header) == 1}
	if in.grants != nil {
		in.grants.OnJudged = c.committed
	} else {
		c.lastGrants, c.faultEffects = map[int]*heldGrant{}, faultEffectsByClient(in.history)
	}
	return checker{record: c.record, finish: c.finish}
}

// faultEffectsByClient returns, by client, the times in which it may not know a fault's effect on its session.
func faultEffectsByClient(h *history.History) map[int]facts.Spans {
	out := map[int]facts.Spans{}
	for client, faults := range facts.FaultsByClient(h) {
		for _, f := range faults {
			out[client] = append(out[client], facts.Span{From: f.Start, To: facts.AddSaturating(facts.FaultEnd(f), facts.MaxDetection(h))})
		}
		out[client] = facts.Union(out[client])
	}
	return out
}

func (c *claims) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.ClaimCheck:
		if c.commits == nil {
			c.check(r, n.N)
		}
	case *history.Session:
		c.event(r, n.N)
	case *history.Sample:
		if r.Op == history.Acquire && r.Outcome == history.OK {
			c.judged++
			c.claim(r, n.N)
			if c.commits == nil {
				c.lastGrants[r.Client] = &heldGrant{sample: *r, record: n.N}
			}
		}
	}
}

// committed checks a grant that was looked up in the commits.
func (c *claims) committed(g *facts.Grant) {
	wrong := g.InvalidReason
	if wrong == "" && g.HasWrongToken() {
		wrong = fmt.Sprintf("the node's czxid is %#x, which is not the token", uint64(g.Node.Czxid))
	}
	if g.Unsure {
		c.unsure++
	}
	if wrong == "" {
		return
	}
	if k := c.sessions[g.Client]; k != nil && g.Node != nil && g.Node.Session != g.Session && c.open[g.Node.Session] == k {
		wrong += ", another open session of the client, which must have one"
	}
	if g.Missing || g.HasWrongToken() {
		c.missing++
	}
	c.broken.Add([]int{g.Record}, "client %d was granted %s of session %#x, having seen no commit after %#x (record %d), but %s",
		g.Client, g.Claims(), uint64(g.Session), uint64(g.Zxid), g.Record, wrong)
}

const ambiguousNames = "older nodes existed when clients were granted, and their names do not show whether they are claims on the same lock: " +
	"nodes of such names were granted later"

func describeToken(token int64) string {
	if token == 0 {
		return "no token (the client did not report a token, and its traffic does not identify its node)"
	}
	return fmt.Sprintf("token %d", token)
}

func (c *claims) check(n *history.ClaimCheck, record int) {
	k := c.lastGrants[n.Client]
	if k == nil || k.sample.Path != n.Path || n.Asked < k.sample.Return {
		return
	}
	c.checked++
	s := k.sample
	var wrong string
	switch {
	case n.Token == 0 && (k.mayBeLost || c.faultEffects[n.Client].Touches(s.Call, n.At)):
		return
	case n.Token == 0:
		wrong = "the node did not exist"
	case n.Session != s.Session:
		wrong = fmt.Sprintf("the node belonged to session %#x", uint64(n.Session))
	case n.Token != s.Token && !s.Own:
		wrong = fmt.Sprintf("the node's czxid was %d", n.Token)
	case n.Ahead > 0 && c.inOrder:
		wrong = fmt.Sprintf("%d older nodes were ahead of the node in line", n.Ahead)
	default:
		return
	}
	c.broken.Add([]int{k.record, record},
		"client %d claimed token %d by node %s of session %#x at %v (record %d), but when the observer checked, at %v, %s (record %d)",
		s.Client, s.Token, s.Path, uint64(s.Session), s.Return, k.record, n.At, wrong, record)
}

func (c *claims) event(n *history.Session, record int) {
	switch n.Event {
	case history.Suspended, history.Lost, history.Killed, history.Closed, history.Ended, history.Deadline, history.Expired:
		if k := c.lastGrants[n.Client]; k != nil {
			k.mayBeLost = true
		}
		if n.Event != history.Suspended && n.Event != history.Deadline { // in which the session may have ended
			delete(c.open, n.Session)
		}
	}
	if n.Session == 0 {
		return
	}
	k := facts.ValueAt(c.sessions, n.Client)
	switch n.Event {
	case history.Opened:
		k.previous, k.opened, k.openedAt, k.openedRecord = k.opened, n.Session, n.At, record
		c.open[n.Session] = k
	case history.Lost, history.Closed:
		k.lost, k.notified = loss{n.Session, n.At, record}, loss{}
		if n.Event == history.Lost {
			k.notified = k.lost
		}
	case history.Suspended:
		if n.Session == k.opened && n.Session != k.notified.session {
			k.notified = loss{} // a later restored event is about a later session
		}
	case history.Restored:
		if k.notified.record > 0 && n.At > k.notified.at {
			c.broken.Add([]int{k.notified.record, record},
				"client %d was notified at %v (record %d) that its grant was restored, although it had been notified at %v (record %d) that the session was lost, which is final",
				n.Client, n.At, record, k.notified.at, k.notified.record)
		}
	}
}

func (c *claims) claim(s *history.Sample, record int) {
	k := c.sessions[s.Client]
	if k != nil {
		k.notified = loss{}
	}
	if s.Path == "" || s.Session == 0 || s.Token == 0 || k == nil || k.opened == 0 {
		c.unchecked++
	}
	if s.Session != 0 && (k == nil || k.opened == 0) {
		c.withoutSession.Add([]int{record}, "client %d was granted %s under session %#x (record %d), but did not open a session on any of its own connections: "+
			"it shares another client's session", s.Client, describeToken(s.Token), uint64(s.Session), record)
	}
	if s.Session == 0 || k == nil || k.opened == 0 {
		return
	}
	if l := k.lost; l.session == s.Session && (s.Call > l.at || s.Return > l.at+grace) {
		c.broken.Add([]int{l.record, record},
			"client %d was granted %s at %v (record %d), %v after it was notified that session %#x had ended (record %d)",
			s.Client, describeToken(s.Token), s.Return, record, s.Return-l.at, uint64(l.session), l.record)
		return
	}
	if s.Session == k.opened || s.Session == k.previous && s.Return <= k.openedAt+grace {
		return
	}
	into, why := &c.broken, "the grant is not its own"
	if c.open[s.Session] == k {
		into, why = &c.several, "both are open, but a client must have one session"
	}
	into.Add([]int{k.openedRecord, record}, "client %d claims a grant of session %#x (record %d), but its session is %#x (record %d): %s",
		s.Client, uint64(s.Session), record, uint64(k.opened), k.openedRecord, why)
}

func (c *claims) finish(ending) Verdict {
	why := c.commits.IncompleteReason()
	if len(c.sessions) > 0 && c.withoutSession.Count > 0 { // otherwise sessions are not recorded
		return c.withoutSession.Fail("grants of clients without a session of their own")
	}
	switch {
	case why != "" && c.missing > 0 && c.missing == c.broken.Count:
		return unknown(fmt.Sprintf("the commits do not confirm %d of %d grants, possibly because %s", c.missing, c.judged, why))
	case c.broken.Count > 0:
		return c.broken.Fail("invalid claims")
	case c.several.Count > 0:
		return c.several.Verdict(Unknown, "grants of clients with several sessions")
	case c.judged == 0:
		return unknown("nothing was granted: there is no claim to check")
	case why != "":
		return unknown(why)
	case c.unsure > 0:
		return unknown(fmt.Sprintf("the commits do not show which nodes %d of %d grants claim", c.unsure, c.judged))
	case c.commits != nil && c.commits.Ambiguous && c.inOrder:
		return unknown(ambiguousNames)
	case c.commits != nil:
		return pass(fmt.Sprintf("all %d grants were found in the servers' commits", c.judged))
	case c.unchecked > 0:
		return unknown(fmt.Sprintf("%d of %d grants lack a node, a session or a token, or their client's session was not recorded", c.unchecked, c.judged))
	case c.checked > 0:
		return pass(fmt.Sprintf("%d of %d grants were checked against the nodes in ZooKeeper", c.checked, c.judged))
	}
	return unknown("no grant was checked against the nodes in ZooKeeper, and there are no transaction logs: only the clients' session events were evaluated")
}

// newOwnershipQuery checks the recipes' answers after a loss.
func newOwnershipQuery(*inputs) checker {
	lost := map[int]loss{} // the last loss of each client
	answers := 0
	var rejected evidence
	record := func(n history.Numbered) {
		switch r := n.Record.(type) {
		case *history.Session:
			if r.Event == history.Lost {
				lost[r.Client] = loss{r.Session, r.At, n.N}
			}
		case *history.Holds:
			answers++
			if l := lost[r.Client]; r.Holds && l.record > 0 && l.session == r.Session {
				rejected.Add([]int{l.record, n.N}, "client %d answered at %v that it holds the grant (record %d), %v after it was notified that its session %#x was lost (record %d), and it had not acquired another grant since",
					r.Client, r.At, n.N, r.At-l.at, uint64(l.session), l.record)
			}
		}
	}
	return checker{record: record, finish: func(ending) Verdict {
		switch {
		case rejected.Count > 0:
			return rejected.Fail("answers")
		case answers == 0:
			return notJudged("no client that can report its ownership lost a grant")
		}
		return pass(fmt.Sprintf("%s after a loss; no client claimed that it still held the grant", units.Plural(answers, "answer")))
	}}
}
