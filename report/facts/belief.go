package facts

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// The cause of a belief's end, as Belief.EndReason. Otherwise it is the session event
// that ended it: history.Suspended, Lost, Killed, Closed, Ended or Deadline.
const (
	Released = "released"
	AtEnd    = "end" // still believed when the history ended
)

// Belief is a time in which one client believed that it held a grant. A grant that was
// suspended and restored results in two beliefs.
type Belief struct {
	Client         int
	Session, Token int64
	OwnToken       bool // the token is the subject's own number
	Permits        int  // permits that it takes
	Phase          string
	Round          int
	Call           time.Duration // of the acquire
	Start, End     time.Duration
	// Late is the difference between Start and the reading of the client's clock, and Early the
	// difference between the reading and End, because that clock may be wrong (history.Sample.Clock).
	Late, Early time.Duration
	EndReason   string
	Restored    bool // it continues after a suspension
	// Outdated means that a newer token was granted before Start: the servers grant one token after the other, so
	// the belief was never true. A grant without a token is never outdated.
	Outdated  bool
	Record    int // number of the record that began it
	EndRecord int // number of the record that ended it; 0 at the history's end

	Grant *Grant // the grant in the commits; nil without commits
	Open  bool   // its end is unknown: it is still believed, or a release that may be in progress has no record
}

const (
	// ReorderWindow is how much later than its own time a record may come before the order of beliefs is
	// in doubt.
	ReorderWindow = 10 * time.Second
	// releaseWait is the time for which a belief that a session event ended waits for the record of
	// a release that was called before that event.
	releaseWait = time.Minute
)

// Beliefs computes beliefs from records, and emits them in the order of their start. It keeps the
// beliefs since the oldest that is still held.
type Beliefs struct {
	// LateRecords counts records that came after a belief had been emitted without them; conclusions are
	// then in doubt.
	LateRecords int

	header          history.Header
	emit            func(Belief)
	GrantOf         func(record int) *Grant // returns the grant of a record in the commits
	endsAtDeadline  bool                    // the deadline of its session ends a belief
	notifiesHolders bool                    // the subject notifies its holders of session events
	clients         map[int]*holder
	Pending         []*entry      // in order of Start
	now             time.Duration // the latest time in the records
	emitted         time.Duration // start of the last emitted belief
	newestToken     int64         // of the emitted beliefs
}

type holder struct {
	grants []grant
	events [4]recentEvent // the last session events, which may precede an acquire's record
	next   int
}

type recentEvent struct {
	event  history.Session
	record int
}

type grant struct {
	session, token int64
	parts          []*entry      // not yet emitted; the last is the current one
	over           bool          // no event can continue it
	held           bool          // the last part has no end yet
	start          Belief        // the first part, to create a restored one
	emitted        time.Duration // end of the last part that was emitted before it was final
}

type entry struct {
	Belief
	live  bool // no end is known
	final bool
}

// NewBeliefs returns a tracker that calls emit with each belief in a history. The deadline of its
// session ends the belief of a subject that promises to stop then, or that is not notified of session
// events; a server's message of the expiry on the wire ends only the belief of the latter.
func NewBeliefs(h history.Header, emit func(Belief)) *Beliefs {
	p := PromisesOf(h)
	return &Beliefs{
		header: h, emit: emit, clients: map[int]*holder{}, endsAtDeadline: p.Deadline || !p.Events, notifiesHolders: p.Events,
		GrantOf: func(int) *Grant { return nil },
	}
}

// Add adds the next record.
func (t *Beliefs) Add(n history.Numbered) {
	t.now = max(t.now, n.Time())
	switch r := n.Record.(type) {
	case *history.Sample:
		switch r.Op {
		case history.Acquire:
			t.addAcquire(r, n.N)
		case history.Release:
			t.addRelease(r, n.N)
		default:
			return
		}
	case *history.Session:
		t.addEvent(r, n.N)
	default:
		return
	}
	t.flush(t.now - ReorderWindow)
}

func (t *Beliefs) addAcquire(s *history.Sample, record int) {
	h := ValueAt(t.clients, s.Client)
	// A client performs one operation at a time: no earlier release is in progress any longer.
	h.finish(s.Call)
	if s.Outcome != history.OK {
		return
	}
	b := Belief{
		Client: s.Client, Session: s.Session, Token: s.Token, OwnToken: s.Own, Permits: permitsForMode(t.header, s.Mode), Phase: s.Phase, Round: s.Round,
		Call: s.Call, Start: s.Return, Late: s.Clock, Record: record, Grant: t.GrantOf(record),
	}
	h.grants = append(h.grants, grant{session: s.Session, token: s.Token, start: b})
	g := &h.grants[len(h.grants)-1]
	t.begin(g, b)
	// Events that were recorded before this sample, but are later.
	for i := range h.events {
		r := &h.events[(h.next+i)%len(h.events)]
		if r.record > 0 && r.event.At >= s.Return {
			t.apply(g, &r.event, r.record)
		}
	}
}

func (t *Beliefs) begin(g *grant, b Belief) {
	if b.Start < t.emitted {
		t.LateRecords++
		b.Start = t.emitted // keeps the emitted beliefs in order; counted in LateRecords
	}
	e := &entry{Belief: b, live: true}
	g.parts, g.held = append(g.parts, e), true
	i := len(t.Pending)
	for i > 0 && t.Pending[i-1].Start > b.Start {
		i--
	}
	t.Pending = slices.Insert(t.Pending, i, e)
}

func (t *Beliefs) addRelease(s *history.Sample, record int) {
	h := ValueAt(t.clients, s.Client)
	i := h.find(s)
	if i < 0 {
		return // a grant that was never believed, or ended long ago
	}
	g := h.grants[i]
	if g.emitted > s.Call {
		t.LateRecords++
	}
	for _, e := range g.parts {
		// Belief ends at the call, even if an event came before the reply.
		if e.live || e.End > s.Call {
			e.End, e.EndReason, e.EndRecord = max(s.Call, e.Start), Released, record
			e.Early = s.Call + s.Clock - e.End
		}
		e.live, e.final = false, true
	}
	h.grants = slices.Delete(h.grants, i, i+1)
}

// find returns the index of the released grant: by its token if the sample has one, else the last;
// -1 if it does not exist.
func (h *holder) find(s *history.Sample) int {
	for i := len(h.grants) - 1; i >= 0; i-- {
		if s.Token == 0 || h.grants[i].token == s.Token {
			return i
		}
	}
	return -1
}

// finish makes the parts that an event ended before the time final.
func (h *holder) finish(before time.Duration) {
	kept := h.grants[:0]
	for _, g := range h.grants {
		ended := !g.held && (len(g.parts) == 0 || g.parts[len(g.parts)-1].End <= before)
		if !ended {
			kept = append(kept, g)
			continue
		}
		for _, e := range g.parts {
			e.final = true
		}
	}
	clear(h.grants[len(kept):])
	h.grants = kept
}

func (t *Beliefs) addEvent(e *history.Session, record int) {
	switch e.Event {
	case history.Suspended, history.Lost, history.Killed, history.Closed, history.Ended, history.Restored:
	case history.Deadline:
		if !t.endsAtDeadline {
			return
		}
	case history.Expired:
		if t.notifiesHolders {
			return
		}
	default:
		return
	}
	h := ValueAt(t.clients, e.Client)
	h.events[h.next] = recentEvent{*e, record}
	h.next = (h.next + 1) % len(h.events)
	for i := range h.grants {
		t.apply(&h.grants[i], e, record)
	}
}

// apply lets an event end a grant's belief, or continue it.
func (t *Beliefs) apply(g *grant, e *history.Session, record int) {
	if g.over || !g.matches(e) || e.At < g.start.Start {
		return
	}
	if e.Event == history.Restored {
		if !g.held {
			b := g.start
			b.Start, b.Late, b.Restored, b.Record = e.At, 0, true, record
			t.begin(g, b)
		}
		return
	}
	g.over = e.Event == history.Lost || e.Event == history.Expired || e.Event == history.Killed || e.Event == history.Closed || e.Event == history.Ended
	if !g.held {
		return
	}
	last := g.parts[len(g.parts)-1]
	last.End, last.EndReason, last.EndRecord, last.live = max(e.At, last.Start), string(e.Event), record, false
	g.held = false
}

// matches reports whether the event is about this grant: by the token if the event has one, else by
// the session, else by the client.
func (g *grant) matches(e *history.Session) bool {
	if e.Token != 0 && g.token != 0 {
		return e.Token == g.token
	}
	return e.Session == 0 || g.session == 0 || e.Session == g.session
}

func (t *Beliefs) flush(until time.Duration) {
	for len(t.Pending) > 0 {
		e := t.Pending[0]
		if e.live || e.Start > until {
			break
		}
		if !e.final {
			if t.now-e.End < releaseWait {
				break
			}
			t.detach(e)
		}
		t.Pending = t.Pending[1:]
		t.emitted = e.Start
		e.Outdated = e.Token > 0 && e.Token < t.newestToken
		t.newestToken = max(t.newestToken, e.Token)
		t.emit(e.Belief)
	}
}

// detach removes a part that is not final from its grant, so that it is not changed later.
func (t *Beliefs) detach(e *entry) {
	h := ValueAt(t.clients, e.Client)
	for i := range h.grants {
		g := &h.grants[i]
		if k := slices.Index(g.parts, e); k >= 0 {
			g.parts, g.emitted = slices.Delete(g.parts, k, k+1), e.End
		}
	}
}

// Close emits all remaining beliefs. Beliefs that have no end yet end at end.
func (t *Beliefs) Close(end time.Duration) {
	for _, e := range t.Pending {
		e.Open = !e.final
		if e.live {
			e.End, e.EndReason, e.live = max(end, e.Start), AtEnd, false
		}
		e.final = true
	}
	t.flush(max(end, t.now) + 1)
}
