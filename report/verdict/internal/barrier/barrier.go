// Package barrier checks that no client passes a double barrier, or leaves it, too early.
package barrier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict/internal/finding"
)

// Passages checks a double barrier. A member counts from when its node is created until it is
// removed: a client that was killed counts until its session ends. A generation begins with the
// first member, is complete once it has as many members as parties, and ends when the last is removed.
//
//   - A passage is early if its generation was not complete, as far as the client knew of commits. Where
//     a notification may have informed it of later ones, it is early if the last member called enter
//     afterwards.
//   - A leave is early if it returned before another member of the generation called it, unless that
//     member's session had ended.
//
// A client that joins a generation after it was complete may pass at once or wait; no other client
// needs to wait for it.
//
// Without commits a member counts from its call of enter until its call of leave. An early passage is
// then proven only if no session had ended.
type Passages struct {
	parties     int
	commits     *facts.NodeTable // nil without commits
	grants      *facts.Grants
	nodes       map[string]int64 // by path: the session of an existing member's node
	members     *generations     // by session
	inside      map[int]*member  // by client: the member with which it passed
	earlyLeaves []earlyLeave
	doubtful    []doubtful
	calls       []passage // without commits
	ended       bool      // a session has ended
	checked     int
	unclear     int // passages of sessions without a member's node
	broken      finding.Evidence
}

type leaving struct {
	client int
	at     time.Duration // when it returned
	record int
}

// earlyLeave is a member that had not called leave when others had left.
type earlyLeave struct {
	*member
	client, record int
	call           time.Duration
	by             leaving
}

// doubtful is a passage that may have followed the node of the last member.
type doubtful struct {
	*history.Sample
	member *member
	record int
}

type passage struct {
	client   int
	call, at time.Duration // call and return of enter
	left     time.Duration // when leave was called; at, if the passage failed
	ok       bool
	record   int
}

// New returns a check of the passages of a history with that number of parties. Without commits, commits and grants
// are nil.
func New(parties int, commits *facts.NodeTable, grants *facts.Grants) *Passages {
	return &Passages{parties: parties, commits: commits, grants: grants, nodes: map[string]int64{}, members: newGenerations(parties), inside: map[int]*member{}}
}

// Commit follows the members' nodes. The documentation's node "ready" belongs to no member.
func (p *Passages) Commit(c *history.Commit) {
	if c.Op == history.CommitCreate && c.Ephemeral && !strings.HasSuffix(c.Path, "/ready") {
		p.nodes[c.Path] = c.Session
		p.members.join(c.Session, c.Zxid)
	}
	for _, path := range c.RemovedPaths() {
		p.remove(path, c.Op == history.CommitClose)
	}
}

func (p *Passages) remove(path string, withSession bool) {
	session, ok := p.nodes[path]
	if !ok {
		return
	}
	delete(p.nodes, path)
	for _, other := range p.nodes {
		if other == session {
			return
		}
	}
	p.members.leave(session, withSession)
}

// Record follows the calls of the clients, and the ends of their sessions.
func (p *Passages) Record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Session:
		p.ended = p.ended || slices.Contains([]history.SessionEvent{history.Lost, history.Expired, history.Closed, history.Killed}, r.Event)
	case *history.Sample:
		switch {
		case p.commits == nil:
			p.called(r, n.N)
		case r.Op == history.Acquire:
			if m := p.members.last[p.session(r)]; m != nil && m.called == 0 {
				m.called = r.Call
			}
			if r.Outcome == history.OK {
				p.passed(r, n.N)
			}
		case r.Op == history.Release:
			p.left(r, n.N)
		}
	}
}

func (p *Passages) passed(s *history.Sample, record int) {
	p.checked++
	m := p.members.last[p.session(s)]
	p.inside[s.Client] = m
	if m == nil {
		p.unclear++
		return
	}
	switch {
	case m.generation.completeBy(s.Zxid):
	case s.Notified:
		p.doubtful = append(p.doubtful, doubtful{s, m, record})
	default:
		p.broken.Add([]int{record}, "client %d passed the barrier at %v (record %d), having seen no transaction after %#x: until then, fewer than %d members of its generation had nodes at once",
			s.Client, s.Return, record, uint64(s.Zxid), p.parties)
	}
}

func (p *Passages) session(s *history.Sample) int64 {
	return cmp.Or(s.Session, p.grants.Current[s.Client])
}

func (p *Passages) left(s *history.Sample, record int) {
	m := p.inside[s.Client]
	delete(p.inside, s.Client)
	if m == nil || m.late {
		return
	}
	for _, l := range m.generation.leaves {
		if l.client != s.Client && l.at < s.Call {
			p.earlyLeaves = append(p.earlyLeaves, earlyLeave{m, s.Client, record, s.Call, l})
			break
		}
	}
	if s.Outcome == history.OK {
		m.generation.leaves = append(m.generation.leaves, leaving{s.Client, s.Return, record})
	}
}

// called keeps the calls of a history without commits.
func (p *Passages) called(s *history.Sample, record int) {
	switch s.Op {
	case history.Acquire:
		p.calls = append(p.calls, passage{client: s.Client, call: s.Call, at: s.Return, left: s.Return, ok: s.Outcome == history.OK, record: record})
	case history.Release:
		for i, c := range slices.Backward(p.calls) {
			if c.client == s.Client {
				p.calls[i].left = s.Call
				break
			}
		}
	}
}

// checkCalls is the check without commits.
func (p *Passages) checkCalls() {
	type event struct {
		at      time.Duration
		passage *passage
		leaves  bool
	}
	var events []event
	for i := range p.calls {
		c := &p.calls[i]
		events = append(events, event{c.call, c, false}, event{c.left, c, true})
	}
	slices.SortStableFunc(events, func(a, b event) int { return int(a.at - b.at) })
	for _, e := range events {
		c, client := e.passage, int64(e.passage.client)
		if !e.leaves {
			p.members.join(client, int64(e.at)+1)
			continue
		}
		if m := p.members.last[client]; c.ok && !m.generation.completeBy(int64(c.at)+1) {
			p.broken.Add([]int{c.record}, "client %d passed the barrier at %v (record %d), when at most %d of %d clients had called enter",
				c.client, c.at, c.record, m.generation.most, p.parties)
		}
		if c.ok {
			p.checked++
		}
		p.members.leave(client, false)
	}
}

// Verdict returns the verdict, once all records and commits have been passed.
func (p *Passages) Verdict() finding.Verdict {
	if p.commits == nil {
		p.checkCalls()
		if p.broken.Count > 0 && p.ended {
			return finding.Conclude(finding.Unknown, fmt.Sprintf("%d passages came before %d clients had called enter, but some sessions had ended: without transaction logs, it is unknown how long their nodes existed", p.broken.Count, p.parties))
		}
	}
	for _, d := range p.doubtful { // none ended before the last member of its generation had called enter
		last := d.member.generation.completer
		switch {
		case last == nil:
			p.broken.Add([]int{d.record}, "client %d passed the barrier at %v (record %d), but %d members of its generation never had nodes at once", d.Client, d.Return, d.record, p.parties)
		case last.called > d.Return+d.Clock:
			p.broken.Add([]int{d.record}, "client %d passed the barrier at %v (record %d), but the last member of its generation called enter only at %v", d.Client, d.Return, d.record, last.called)
		}
	}
	for _, o := range p.earlyLeaves {
		if !o.withSession {
			p.broken.Add([]int{o.by.record, o.record}, "client %d had left the barrier at %v (record %d), but client %d of the same generation called leave only at %v (record %d)",
				o.by.client, o.by.at, o.by.record, o.client, o.call, o.record)
		}
	}
	why := p.commits.IncompleteReason()
	switch {
	case p.broken.Count > 0 && why != "":
		return finding.Conclude(finding.Unknown, fmt.Sprintf("%d passages or departures seem early, possibly because %s", p.broken.Count, why))
	case p.broken.Count > 0:
		return p.broken.Fail("early passages or departures")
	case p.parties == 0:
		return finding.Conclude(finding.Unknown, "the history does not contain the number of parties")
	case p.checked == 0:
		return finding.Conclude(finding.Unknown, "no client passed the barrier: nothing was checked")
	case why != "":
		return finding.Conclude(finding.Unknown, why)
	case p.unclear > 0:
		return finding.Conclude(finding.Unknown, fmt.Sprintf("%d of %d passages belong to sessions without an ephemeral node: it is unknown which clients were members", p.unclear, p.checked))
	case p.commits == nil:
		return finding.Conclude(finding.Pass, fmt.Sprintf("%d passages were checked by the clients' calls", p.checked))
	}
	return finding.Conclude(finding.Pass, fmt.Sprintf("%d passages were checked by the servers' commits", p.checked))
}

// generations follows the members of a barrier through its generations.
type generations struct {
	parties int
	current *generation
	inside  map[int64]*member
	last    map[int64]*member // by key: the last one, inside or not
}

type generation struct {
	complete  int64   // when it was complete
	completer *member // the member with which it was complete; nil if it never was
	most      int     // largest number of members at once
	leaves    []leaving
}

type member struct {
	generation  *generation
	late        bool          // it joined when its generation was complete
	withSession bool          // it was removed with its session
	called      time.Duration // when its client called enter; 0 if unknown
}

func newGenerations(parties int) *generations {
	return &generations{parties: parties, inside: map[int64]*member{}, last: map[int64]*member{}}
}

func (g *generations) join(key, at int64) {
	if g.inside[key] != nil {
		return
	}
	if len(g.inside) == 0 {
		g.current = &generation{}
	}
	m := &member{generation: g.current, late: g.current.completeBy(at)}
	g.inside[key], g.last[key] = m, m
	g.current.most = max(g.current.most, len(g.inside))
	if len(g.inside) >= g.parties && !m.late {
		g.current.complete, g.current.completer = at, m
	}
}

// completeBy reports whether the generation was complete at a transaction, or a time.
func (g *generation) completeBy(at int64) bool { return g.completer != nil && g.complete <= at }

func (g *generations) leave(key int64, withSession bool) {
	if m := g.inside[key]; m != nil {
		m.withSession = withSession
		delete(g.inside, key)
	}
}
