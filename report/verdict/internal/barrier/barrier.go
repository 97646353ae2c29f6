// Package barrier checks that no client passes a double barrier, or leaves it, too early.
package barrier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict/internal/finding"
)

// Passages checks a double barrier. A member is a client with a node like the nodes of the granted claims. It
// counts from when its node is created until its leave returns ok or the node is removed: a client that was
// killed counts until its session ends. A generation begins with the first member, is complete once it has as
// many members as parties, and ends when the last no longer counts. A passage belongs to the generation of its
// claim's node.
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
	kinds       map[string]bool    // of the members' nodes
	otherKinds  bool               // there were other ephemeral nodes
	recent      []string           // words of the path of the newest member's node
	nodes       map[string]*member // by path: of the existing nodes
	members     *generations       // by session
	inside      map[int]*member    // by client: the member with which it passed
	earlyLeaves []earlyLeave
	doubtful    []doubtful
	calls       []passage // without commits
	ended       bool      // a session has ended
	checked     int
	unclear     int // passages without a member
	unlike      int // those of them whose claim's node is known
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

// claimsRead is the number of claims that show the kinds of the members' nodes.
const claimsRead = 256

// New returns a check of the passages of a history. Without commits, commits and grants are nil. It reads
// the kinds of the members' nodes from the first claims, because these nodes exist before them.
func New(h *history.History, commits *facts.NodeTable, grants *facts.Grants) *Passages {
	parties := h.Header.Clients
	p := &Passages{parties: parties, commits: commits, grants: grants, kinds: map[string]bool{}, nodes: map[string]*member{}, members: newGenerations(parties), inside: map[int]*member{}}
	if commits == nil {
		return p
	}
	read, claims := facts.NewNodeTable(h), 0
	first := facts.NewGrants(read, history.Promises{})
	for n, err := range h.Records {
		if err != nil || claims == claimsRead {
			break
		}
		read.Record(n.Record)
		first.Record(n)
		if g := first.Last(n.N); g != nil && g.Node != nil && !g.Unsure && !isReady(g.Node.Path) {
			claims, p.kinds[facts.NodeKind(g.Node.Path)] = claims+1, true
		}
	}
	return p
}

// isReady reports whether the node is the documentation's node "ready", which belongs to no member.
func isReady(path string) bool { return strings.HasSuffix(path, "/ready") }

// Commit follows the members' nodes.
func (p *Passages) Commit(c *history.Commit) {
	if c.Op == history.CommitCreate && c.Ephemeral {
		words := strings.FieldsFunc(c.Path, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if slices.EqualFunc(words, p.recent, sameKind) || p.kinds[facts.NodeKind(c.Path)] { // NodeKind is slow
			m := p.members.join(c.Session, c.Zxid)
			m.nodes, m.newest, p.nodes[c.Path], p.recent = m.nodes+1, c.Zxid, m, words
		} else {
			p.otherKinds = p.otherKinds || !isReady(c.Path)
		}
	}
	for _, path := range c.RemovedPaths() {
		if m := p.nodes[path]; m != nil {
			delete(p.nodes, path)
			if m.nodes--; m.nodes == 0 {
				p.members.leave(m, c.Op == history.CommitClose)
			}
		}
	}
}

// sameKind reports whether two words of paths, which differ in a number at their end or are long even without a sequence
// number, are not distinguished in any kind.
func sameKind(a, b string) bool {
	const digits = "0123456789"
	return a == b || len(a) == len(b) && (len(a) >= 26 || strings.TrimRight(a, digits) == strings.TrimRight(b, digits))
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
	m := p.claimed(record)
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

// claimed returns the member whose node is claimed, or nil if that is unknown.
func (p *Passages) claimed(record int) *member {
	g := p.grants.Last(record)
	if g == nil || g.Node == nil || g.Unsure {
		return nil
	}
	m, at := p.members.last[g.Node.Session], g.Node.Czxid
	if m != nil && isReady(g.Node.Path) { // the newest node of a session whose driver names none
		at = m.newest
	}
	if m == nil || m.left || at < m.joined || at > m.newest {
		p.unlike++
		return nil
	}
	return m
}

func (p *Passages) session(s *history.Sample) int64 {
	return cmp.Or(s.Session, p.grants.Current[s.Client])
}

func (p *Passages) left(s *history.Sample, record int) {
	m := p.inside[s.Client]
	delete(p.inside, s.Client)
	if m == nil {
		return
	}
	m.left = true
	if s.Outcome == history.OK {
		p.members.leave(m, false)
	}
	if m.late {
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
		p.members.leave(p.members.last[client], false)
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
	case p.broken.Count > 0 && (p.unlike > 0 || len(p.kinds) > 1 && p.otherKinds): // those may be members' too
		return finding.Conclude(finding.Unknown, fmt.Sprintf("%d passages or departures seem early, but the names of the granted nodes do not show which other nodes belong to members", p.broken.Count))
	case p.broken.Count > 0:
		return p.broken.Fail("early passages or departures")
	case p.parties == 0:
		return finding.Conclude(finding.Unknown, "the history does not contain the number of parties")
	case p.checked == 0:
		return finding.Conclude(finding.Unknown, "no client passed the barrier: nothing was checked")
	case why != "":
		return finding.Conclude(finding.Unknown, why)
	case p.unclear > 0:
		return finding.Conclude(finding.Unknown, fmt.Sprintf("the claims of %d of %d passages show no ephemeral node of a member that had not left: it is unknown which clients were members", p.unclear, p.checked))
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
	key            int64
	generation     *generation
	joined, newest int64         // when its first and its last node were created
	nodes          int           // existing ones
	late           bool          // it joined when its generation was complete
	withSession    bool          // it was removed with its session
	left           bool          // its client has called leave
	called         time.Duration // when its client called enter; 0 if unknown
}

func newGenerations(parties int) *generations {
	return &generations{parties: parties, inside: map[int64]*member{}, last: map[int64]*member{}}
}

// join returns the key's member that has not called leave; a new one if there is none.
func (g *generations) join(key, at int64) *member {
	if m := g.inside[key]; m != nil && !m.left {
		return m
	}
	if len(g.inside) == 0 {
		g.current = &generation{}
	}
	m := &member{key: key, generation: g.current, joined: at, late: g.current.completeBy(at)}
	g.inside[key], g.last[key] = m, m
	g.current.most = max(g.current.most, len(g.inside))
	if len(g.inside) >= g.parties && !m.late {
		g.current.complete, g.current.completer = at, m
	}
	return m
}

// completeBy reports whether the generation was complete at a transaction, or a time.
func (g *generation) completeBy(at int64) bool { return g.completer != nil && g.complete <= at }

func (g *generations) leave(m *member, withSession bool) {
	if g.inside[m.key] == m {
		m.withSession = withSession
		delete(g.inside, m.key)
	}
}
