package second

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Disagreement names the verdict for contradictory results of two methods on the same history: one
// of them is wrong, so neither can be relied on.
const Disagreement = "second-opinion"

// replayed is the number of items of a queue that are followed: those whose nodes were created first.
const replayed = 5000

// Queue replays the commits of a queue's first items on a simple model of a queue, and compares the
// result with the verdicts on the history. It returns a failed verdict if they disagree; none if
// they agree, or there are no complete commits.
func Queue(h *history.History, verdicts []verdict.Verdict) []verdict.Verdict {
	if r := h.Header.Recipe; !h.HasCommits || r != "" && r != verdict.Queue {
		return nil
	}
	q := &queue{items: map[string]*story{}, nodes: map[string]string{}, sessions: map[int64]*session{}, current: map[int]int64{}, limit: replayed}
	read := 0
	for n, err := range h.Records {
		if err != nil {
			return nil
		}
		q.add(n)
		if read++; q.more && read%replayed == 0 && q.served() {
			q.whole = true // as far as it is followed
			break
		}
	}
	if !q.whole || !q.linked() {
		return nil
	}
	delivery := h.Header.Promises.Delivery
	if h.Header.Recipe == "" {
		delivery = facts.ExactlyOnce
	}
	var wrong []string
	for name, found := range q.judge(delivery) {
		i := slices.IndexFunc(verdicts, func(v verdict.Verdict) bool { return v.Guarantee == name })
		if i < 0 || verdicts[i].Result != verdict.Pass && verdicts[i].Result != verdict.Fail {
			continue
		}
		said := verdicts[i].Result
		switch {
		case said == verdict.Pass && found != "":
			wrong = append(wrong, fmt.Sprintf("%s passed, and a replay of the commits shows that item %q breaks it", name, found))
		case said == verdict.Fail && found == "" && !q.more:
			wrong = append(wrong, fmt.Sprintf("%s failed, and a replay of the commits shows nothing that breaks it", name))
		}
	}
	if wrong == nil {
		return nil
	}
	slices.Sort(wrong)
	return []verdict.Verdict{{Guarantee: Disagreement, Result: verdict.Fail, Reasons: wrong}}
}

// queue is the model, and the history of each of its items.
type queue struct {
	items    map[string]*story
	line     []place           // existing ones, in order of the transactions that created them
	nodes    map[string]string // ID, by path of an existing node
	claims   []claim           // existing nodes of consumers
	sessions map[int64]*session
	current  map[int]int64 // session, by client
	limit    int
	more     bool // there were more items than are followed
	whole    bool
}

type place struct{ id, path string }

type claim struct {
	path    string
	session int64
}

type session struct {
	client       int
	knew         int64
	killed, lost bool
}

// story is the history of one item, in the order of the records.
type story struct {
	puts, takes []*history.Sample
	made, gone  []*history.Commit
	remade      []*history.Commit // results after the first, in its folder, except results that replace it in one transaction
	again       bool              // its producer created two nodes of it
	elders      []string          // items that existed unclaimed when its first node was removed
}

// served reports whether everything is known about all items.
func (q *queue) served() bool {
	for _, x := range q.items {
		if len(x.puts) == 0 || len(x.takes) == 0 || len(x.made) == 0 || len(x.made) > len(x.gone) {
			return false
		}
	}
	return true
}

// linked reports whether an item that was put was found in a node.
func (q *queue) linked() bool {
	for _, x := range q.items {
		if x.put() && len(x.made) > 0 {
			return true
		}
	}
	return false
}

func (q *queue) of(id string) *story {
	if q.items[id] == nil {
		q.items[id] = &story{}
	}
	return q.items[id]
}

func (q *queue) add(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Sample:
		if s := q.sessions[q.current[r.Client]]; s != nil && !s.lost && !s.killed {
			s.knew = max(s.knew, r.Zxid)
		}
		q.sample(r)
	case *history.Session:
		q.event(r)
	case *history.Commit:
		q.commit(r)
	case *history.CommitsEnd:
		q.whole = r.IsComplete()
	}
}

func (q *queue) sample(s *history.Sample) {
	switch {
	case s.Item == "" || q.more && q.items[s.Item] == nil:
	case s.Op == history.Put:
		x := q.of(s.Item)
		x.puts = append(x.puts, s)
	case s.Op == history.Take && s.Outcome != history.Failed:
		x := q.of(s.Item)
		x.takes = append(x.takes, s)
	}
}

func (q *queue) event(e *history.Session) {
	if e.Event == history.Opened {
		q.sessions[e.Session], q.current[e.Client] = &session{client: e.Client}, e.Session
		return
	}
	id := e.Session
	if id == 0 {
		id = q.current[e.Client]
	}
	if s := q.sessions[id]; s != nil {
		s.killed = s.killed || e.Event == history.Killed
		s.lost = s.lost || e.Event == history.Lost || e.Event == history.Expired
	}
}

func (q *queue) client(session int64) int {
	if s := q.sessions[session]; s != nil {
		return s.client
	}
	return -1
}

func (q *queue) commit(c *history.Commit) {
	switch {
	case c.Op == history.CommitCreate && c.Ephemeral:
		q.claims = append(q.claims, claim{c.Path, c.Session})
	case c.Op == history.CommitCreate && c.Item != "":
		q.create(c)
	case c.Op == history.CommitDelete:
		q.remove(c, c.Path)
	case c.Op == history.CommitClose:
		for _, p := range c.Removed {
			q.remove(c, p)
		}
	}
}

func (q *queue) create(c *history.Commit) {
	if q.items[c.Item] == nil && len(q.items) >= q.limit {
		q.more = true
		return
	}
	x := q.of(c.Item)
	q.nodes[c.Path] = c.Item
	if x.made = append(x.made, c); len(x.made) == 1 {
		q.line = append(q.line, place{c.Item, c.Path})
		return
	}
	moved := len(x.gone) > 0 && x.gone[len(x.gone)-1].Zxid == c.Zxid
	first := x.made[0]
	if moved || path.Dir(first.Path) != path.Dir(c.Path) {
		return
	}
	x.remade = append(x.remade, c)
	maker := q.client(c.Session)
	putBack := len(x.gone) == len(x.made)-1 && q.client(x.gone[len(x.gone)-1].Session) == maker
	x.again = x.again || maker == q.client(first.Session) && !putBack
}

func (q *queue) remove(c *history.Commit, p string) {
	q.claims = slices.DeleteFunc(q.claims, func(k claim) bool { return k.path == p })
	id, is := q.nodes[p]
	if !is || q.sessions[c.Session] == nil {
		return // zkbench removes the trial's nodes at its end
	}
	delete(q.nodes, p)
	x := q.items[id]
	x.gone = append(x.gone, c)
	at := slices.Index(q.line, place{id, p})
	if at < 0 {
		return // not its first node
	}
	for _, elder := range q.line[:at] {
		if path.Dir(elder.path) == path.Dir(p) && !q.claimed(elder, c.Session) {
			x.elders = append(x.elders, elder.id)
		}
	}
	q.line = slices.Delete(q.line, at, at+1)
}

func (q *queue) claimed(e place, session int64) bool {
	return slices.ContainsFunc(q.claims, func(k claim) bool { return k.session != session && strings.Contains(k.path, path.Base(e.path)) })
}

// judge returns an item that breaks each guarantee, by guarantee. Undecidable ones are left out.
func (q *queue) judge(delivery string) map[string]string {
	broken := map[string]string{verdict.NoDuplicate: "", verdict.NoPhantom: "", verdict.QueueFIFO: ""}
	hidden := false
	for _, x := range q.items {
		hidden = hidden || len(x.takes) > 0 && len(x.made) == 0
	}
	if delivery != verdict.AtMostOnce && !hidden {
		broken[verdict.NoLoss] = ""
	}
	for id, x := range q.items {
		for name, is := range map[string]bool{
			verdict.NoLoss:      q.isLost(x, delivery),
			verdict.NoDuplicate: delivery != verdict.AtLeastOnce && (len(x.ok(x.takes)) > 1 || x.again && x.put() || x.revived()),
			verdict.NoPhantom:   len(x.ok(x.takes)) > 0 && !x.put() && (len(x.puts) > 0 || len(x.made) == 0),
			verdict.QueueFIFO:   q.overtook(x),
		} {
			if _, judged := broken[name]; judged && is {
				broken[name] = id
			}
		}
	}
	return broken
}

func (*story) ok(samples []*history.Sample) (out []*history.Sample) {
	for _, s := range samples {
		if s.Outcome == history.OK {
			out = append(out, s)
		}
	}
	return out
}

// put reports whether it was put, or may have been.
func (x *story) put() bool {
	return slices.ContainsFunc(x.puts, func(s *history.Sample) bool { return s.Outcome != history.Failed })
}

// revived reports whether another node of it was created after a take had handed it over.
func (x *story) revived() bool {
	return slices.ContainsFunc(x.ok(x.takes), func(s *history.Sample) bool {
		return s.Zxid > 0 && slices.ContainsFunc(x.remade, func(c *history.Commit) bool { return c.Zxid > s.Zxid })
	})
}

func (q *queue) isLost(x *story, delivery string) bool {
	if len(x.takes) > 0 || !x.put() {
		return false
	}
	certain := len(x.ok(x.puts)) > 0
	if len(x.made) == 0 {
		return certain && !q.more
	}
	if len(x.gone) < len(x.made) {
		return false // it exists
	}
	last := x.gone[len(x.gone)-1]
	by := q.sessions[last.Session]
	if by == nil {
		return true
	}
	withdrawn := !certain && by.client == x.puts[0].Client
	excused := delivery != verdict.AtLeastOnce && (by.killed || by.lost) && by.knew < last.Zxid
	return !withdrawn && !excused
}

// overtook reports whether the item was taken by the client that removed its first node, while an
// older item of a put existed. A client that received it before the removal had claimed it.
func (q *queue) overtook(x *story) bool {
	if len(x.gone) == 0 {
		return false
	}
	by := q.client(x.gone[0].Session)
	took := slices.ContainsFunc(x.ok(x.takes), func(s *history.Sample) bool {
		return (by < 0 || s.Client == by) && (s.Zxid == 0 || s.Zxid >= x.gone[0].Zxid)
	})
	return took && slices.ContainsFunc(x.elders, func(id string) bool { return q.items[id].put() })
}
