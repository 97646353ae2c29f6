package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// fences checks [Fencing] with certain holders: their node existed until they released it, and no other
// client believed that it held, except past holders that were not notified yet. The resource, which
// rejects tokens lower than an earlier token, must reject none of their writes. Tokens must increase from
// grant to grant, also after a session expired: the commits show the order of grants. Rejected writes
// of other clients are the purpose of fencing: they are counted.
//
// The czxid of a node is a token only if grants follow that order. If the subject does not promise
// that, and has no other token, a lower czxid proves nothing.
//
// Beliefs come in the order of their start, so whether a belief is overlapped is known when the next
// one comes.
type fences struct {
	commits      *facts.NodeTable    // nil without
	faults       map[int]facts.Spans // by client, without commits: times in which its session may have ended
	inOrder      bool
	permits      int
	last         facts.Belief // the previous belief
	hasLast      bool
	before       []facts.Belief // earlier beliefs that had not ended when last began
	certain      facts.Belief   // the last belief of a certain holder
	lastOwnToken facts.Belief   // the last belief with a token of the subject's own
	repeated     int            // record of the last grant that repeats a token
	judged       int
	unseen       int                 // grants whose node is not in the commits
	rejections   map[int][]rejection // by client, until its belief has come
	accepted     int
	rejected     int // rejected stale writes
	unknown      int // writes of unknown outcome
	broken       evidence
	removals     evidence // findings by the order of removals, which need all commits
}

type rejection struct {
	token        int64
	call, answer time.Duration
	why          string // the resource's error; "" without one
	record       int
}

func newFencing(in *inputs) checker {
	f := &fences{commits: in.commits, permits: facts.Permits(in.history.Header), inOrder: in.promises.FIFO, rejections: map[int][]rejection{}}
	if in.commits == nil {
		f.faults = faultEffectsByClient(in.history)
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
		f.rejected++
		f.rejections[s.Client] = append(f.rejections[s.Client], rejection{s.Token, s.Call, s.Return, s.Err, n.N})
	case history.Unknown:
		f.unknown++
	case history.OK:
		f.accepted++
	}
}

func (f *fences) belief(b facts.Belief) {
	if b.Permits < f.permits {
		return // a reader's token has no order
	}
	if f.hasLast {
		f.judge(b.Start)
		f.before = slices.DeleteFunc(append(f.before, f.last), func(e facts.Belief) bool { return e.End <= b.Start })
	}
	f.last, f.hasLast = b, true
	if b.OwnToken && b.Token != 0 && !b.Restored {
		f.checkRepeated(b)
		f.lastOwnToken = b
	}
}

// judge checks the last belief. next is the start of the belief after it; forever without one.
func (f *fences) judge(next time.Duration) {
	b := f.last
	alone := f.alone(b)
	held := alone && next >= b.End && f.held(b)
	if held {
		f.checkRejections(b)
	}
	if all := f.rejections[b.Client]; len(all) > 0 {
		f.rejections[b.Client] = slices.DeleteFunc(all, func(r rejection) bool { return r.answer <= b.End })
	}
	granted := held
	if f.commits != nil {
		if !b.Restored && (b.Grant == nil || b.Grant.Node == nil) {
			f.unseen++
		}
		granted = alone && b.Grant != nil && b.Grant.Valid()
	}
	has := b.Token != 0 || b.OwnToken && f.certain.Token > 0 // a subject without tokens may name 0 each time
	if granted && has && !b.Restored && (f.inOrder || b.OwnToken || b.Grant != nil && b.Grant.HasWrongToken()) {
		f.checkIncreasing(b)
	}
}

// alone reports whether every earlier belief that had not ended when b began was already stale: its node
// had been deleted by the time of the grant of b.
func (f *fences) alone(b facts.Belief) bool {
	return !slices.ContainsFunc(f.before, func(e facts.Belief) bool {
		return e.Grant == nil || b.Grant == nil || e.Grant.Node == nil || e.Grant.Node.RemovedZxid == 0 || e.Grant.Node.RemovedZxid > b.Grant.Zxid
	})
}

// checkRepeated reports a token that equals that of the previous grant, if that grant is of another session.
// It need not be certain that the clients held.
func (f *fences) checkRepeated(b facts.Belief) {
	if n := f.lastOwnToken; b.Token == n.Token && n.Session != b.Session {
		f.repeated = b.Record
		f.reportNotHigher(&f.broken, n, b)
	}
}

// checkIncreasing compares the token with the token of the last grant that is known to be older.
func (f *fences) checkIncreasing(b facts.Belief) {
	c, into := f.certain, &f.broken
	if c.Grant != nil {
		if !f.follows(b, c) {
			return
		}
		into = &f.removals
	}
	f.judged++
	f.certain = b
	if c.Record > 0 && b.Token <= c.Token && b.Record != f.repeated {
		f.reportNotHigher(into, c, b)
	}
}

// follows reports whether, by the commits, the client was granted after the other: a certain holder
// holds until its node is deleted.
func (f *fences) follows(b, before facts.Belief) bool {
	first, then := before.Grant.Node, b.Grant.Node
	if first.RemovedBefore(then) {
		return true
	}
	return !then.RemovedBefore(first) && f.held(before) && f.held(b) && before.End <= b.Start
}

// reportNotHigher reports the token of a grant that is not higher than an earlier token.
func (f *fences) reportNotHigher(into *evidence, before, b facts.Belief) {
	how, harm := "is lower than", "the resource mistakes the holder for a stale one"
	if b.Token == before.Token {
		how, harm = "repeats", "the resource cannot distinguish the two holders"
	}
	into.Add([]int{before.Record, b.Record},
		"token %d of client %d, granted at %v (record %d), %s token %d of client %d, granted before it at %v (record %d): %s",
		b.Token, b.Client, b.Start, b.Record, how, before.Token, before.Client, before.Start, before.Record, harm)
}

// held reports whether the client certainly held as long as it believed so, if no other client did.
func (f *fences) held(b facts.Belief) bool {
	if b.EndReason != facts.Released && b.EndReason != facts.AtEnd {
		return false
	}
	if g := b.Grant; g != nil {
		return g.Valid() && (g.Node.RemovedZxid == 0 || g.Node.Removal == facts.ByRequest)
	}
	return !f.faults[b.Client].Touches(b.Call, b.End)
}

func (f *fences) checkRejections(b facts.Belief) {
	for _, r := range f.rejections[b.Client] {
		if r.token != b.Token || r.call < b.Start || r.answer > b.End {
			continue
		}
		f.broken.Add([]int{b.Record, r.record},
			"client %d was the only holder, with the valid token %d, from %v (record %d), but its write at %v was refused (record %d): %s",
			b.Client, b.Token, b.Start, b.Record, r.call, r.record, cmp.Or(r.why, "a higher token had been used before"))
	}
}

func (f *fences) finish(end ending) Verdict {
	if f.hasLast && !end.truncated {
		f.judge(facts.Forever)
	}
	broken := &f.broken
	if broken.Count == 0 {
		broken = &f.removals
	}
	about := fmt.Sprintf("%d writes accepted, %d refused as stale, %d of unknown outcome", f.accepted, f.rejected, f.unknown)
	switch {
	case broken == &f.removals && broken.Count > 0 && f.commits.IncompleteReason() != "":
		return unknown("either a token did not increase, or the commit of a removal is missing: " + f.commits.IncompleteReason())
	case broken.Count > 0:
		v := broken.Fail("violations")
		v.Reasons = append(v.Reasons, about)
		return v
	case f.unseen > 0 && f.commits.IncompleteReason() != "":
		return unknown(fmt.Sprintf("the commits do not contain the node of %s, so the order is unknown: %s", units.Plural(f.unseen, "grant"), f.commits.IncompleteReason()))
	case !f.hasLast:
		return unknown("nothing was granted exclusively: there is no token to check")
	case f.judged == 0 && !f.inOrder && f.accepted+f.rejected == 0:
		return notJudged("the subject does not promise an order of tokens, and no client wrote to the fenced resource; " + about)
	case f.judged == 0 && !f.inOrder:
		return pass("the subject does not promise an order of grants, so the tokens need not increase; " + about)
	case f.judged < 2:
		return notJudged(fmt.Sprintf("only %d grants with a token were certain, but a comparison needs two; %s", f.judged, about))
	}
	return pass(fmt.Sprintf("the tokens of %d grants increase from grant to grant; %s", f.judged, about))
}
