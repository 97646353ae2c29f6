package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const Fencing = "fencing"

func init() {
	register(Guarantee{
		Name: Fencing, Rule: 5, Concerns: granting, promised: exclusive,
		Promise: "Every grant has a token of its own, higher than that of the grant before, so that a resource can refuse whoever held in the past.",
		Harm:    "A holder of the past overwrites what its successor has written, or the holder of the present is refused.",
		Help:    "a token that repeats or goes down, or a valid holder that the fenced resource refused",
		check:   newFencing,
	})
}

// fences judges rule 5 by those who held without a doubt: no other belief overlaps theirs,
// and their node stood until they let go of it. From one to the next the token rises, and
// the resource, which refuses tokens lower than one that it has seen, refuses none of their
// writes. Refused writes of others are what fencing is for: they are counted.
//
// The czxid of a node is a token only where grants are given in that order. Where the
// subject does not promise that, and hands out no other token, a lower one proves nothing.
//
// Beliefs come in the order of their start, so whether one is overlapped is known when the
// next comes.
type fences struct {
	faults   map[int]Spans // by client, where there are no commits: the times of which nobody knows what a session was worth
	inOrder  bool
	last     Belief // the one that came last
	has      bool
	covered  time.Duration // the latest end of those before it
	certain  Belief        // the last that held without a doubt
	judged   int
	refused  map[int][]refusal // by client, until its belief has come
	accepted int
	stopped  int // stale writes that were refused
	open     int // writes of unknown outcome
	broken   evidence
}

// refusal is a write that the resource refused.
type refusal struct {
	token        int64
	call, answer time.Duration
	why          string // the resource's own words; "" where there are none
	record       int
}

func newFencing(in *inputs) checker {
	f := &fences{inOrder: in.promises.FIFO, refused: map[int][]refusal{}}
	if in.line == nil {
		f.faults = hitsByClient(in.history)
	}
	return checker{record: f.record, belief: f.belief, finish: f.finish}
}

func (f *fences) record(n history.Numbered) {
	s, ok := n.Record.(*history.Sample)
	if !ok || s.Op != history.Write {
		return
	}
	switch s.Outcome {
	case history.Failed:
		f.stopped++
		f.refused[s.Client] = append(f.refused[s.Client], refusal{s.Token, s.Call, s.Return, s.Err, n.N})
	case history.Unknown:
		f.open++
	case history.OK:
		f.accepted++
	}
}

func (f *fences) belief(b Belief) {
	if f.has {
		f.judge(b.Start)
		f.covered = max(f.covered, f.last.End)
	}
	f.last, f.has = b, true
}

// judge judges the last belief. next is when another began; forever if none did.
func (f *fences) judge(next time.Duration) {
	b := f.last
	if b.Start < f.covered || next < b.End || !f.held(b) {
		f.forget(b)
		return
	}
	f.refusals(b)
	if b.Token == 0 || b.Restored || !f.inOrder && !b.Own && (b.granted == nil || !b.granted.mistaken()) {
		return
	}
	f.judged++
	if f.certain.Record > 0 && b.Token <= f.certain.Token {
		how, harm := "is lower than", "the resource takes the holder for a stale one"
		if b.Token == f.certain.Token {
			how, harm = "repeats", "the resource cannot tell one from the other"
		}
		f.broken.add([]int{f.certain.Record, b.Record},
			"token %d of client %d, granted at %v (record %d), %s token %d of client %d, granted before it at %v (record %d): %s",
			b.Token, b.Client, b.Start, b.Record, how, f.certain.Token, f.certain.Client, f.certain.Start, f.certain.Record, harm)
	}
	f.certain = b
}

// held says that the client held without a doubt as long as it believed so, if nobody
// else did.
func (f *fences) held(b Belief) bool {
	if b.Ended != Released && b.Ended != AtEnd {
		return false
	}
	if g := b.granted; g != nil {
		return g.node != nil && g.wrong == "" && !g.unsure && (g.node.gone == 0 || g.node.removal == byRequest)
	}
	return !f.faults[b.Client].Touches(b.Call, b.End)
}

// refusals judges what the resource refused of a client that held without a doubt.
func (f *fences) refusals(b Belief) {
	for _, r := range f.refused[b.Client] {
		if r.token != b.Token || r.call < b.Start || r.answer > b.End {
			continue
		}
		f.broken.add([]int{b.Record, r.record},
			"client %d held by token %d from %v (record %d), valid and alone, and its write at %v was refused (record %d): %s",
			b.Client, b.Token, b.Start, b.Record, r.call, r.record, cmp.Or(r.why, "a higher token had been used before"))
	}
	f.forget(b)
}

// forget drops the refusals that the client had by then.
func (f *fences) forget(b Belief) {
	if all := f.refused[b.Client]; len(all) > 0 {
		f.refused[b.Client] = slices.DeleteFunc(all, func(r refusal) bool { return r.answer <= b.End })
	}
}

func (f *fences) finish(end ending) Verdict {
	if f.has && !end.cut {
		f.judge(forever)
	}
	about := fmt.Sprintf("%d writes accepted, %d refused as stale, %d of unknown outcome", f.accepted, f.stopped, f.open)
	switch {
	case f.broken.count > 0:
		v := f.broken.fail("tokens that are none")
		v.Reasons = append(v.Reasons, about)
		return v
	case !f.has:
		return unknown("nothing was granted: there is no token to judge")
	case f.judged == 0 && !f.inOrder && f.accepted+f.stopped == 0:
		return notJudged("no order of tokens is promised, and nobody wrote to the fenced resource; " + about)
	case f.judged == 0 && !f.inOrder:
		return pass("no order of grants is promised, so the tokens of their nodes have none; " + about)
	case f.judged < 2:
		return notJudged(fmt.Sprintf("%d grants with a token were held without a doubt: an order needs two; %s", f.judged, about))
	}
	return pass(fmt.Sprintf("the tokens of %d grants rise; %s", f.judged, about))
}
