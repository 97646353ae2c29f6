package verdict

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// cleanUp is how long a recipe may take to remove a node that it has no use for any
// more: some do it in the background.
const cleanUp = 2 * time.Second

// leftovers judges rule 7 by the servers' commits, in every phase.
//
//   - A release returned ok: the node is gone.
//   - An acquire gave up, failed or was cancelled: its node goes, too, unless the client's
//     next acquire takes it over.
//
// A node has cleanUp to go, in which its session lives and no fault keeps its client from
// removing it. Commits have no time: that a node still stands is seen at a sample whose
// client knew of a transaction before the removal.
type leftovers struct {
	line     *line
	members  Spans         // faults that hit members, with the time to recover
	hits     map[int]Spans // by client: faults that hit it
	sessions map[int64]*owner
	current  map[int]int64 // by client: its session
	suspects []*leftover
	judged   int
	broken   evidence
}

// owner is one session, as far as the client has heard of it.
type owner struct {
	client int
	ended  time.Duration // when the client heard that it is gone, or closed it; 0: it lives
}

type leftover struct {
	*node
	owner  *owner
	since  time.Duration
	why    string
	record int
	failed bool // its acquire failed: the next one may take it over
}

func newLeftovers(in *inputs) *leftovers {
	o := &leftovers{line: in.line, hits: map[int]Spans{}, sessions: map[int64]*owner{}, current: map[int]int64{}}
	for _, f := range in.history.Faults {
		if f.Client >= 0 {
			o.hits[f.Client] = append(o.hits[f.Client], span{f.Start, later(ended(f), cleanUp)})
		} else {
			o.members = append(o.members, span{f.Start, later(ended(f), Patience(in.history))})
		}
	}
	return o
}

// free says whether there was time enough for the client to remove its node.
func (o *leftovers) free(x *leftover, until time.Duration) bool {
	faults := union(slices.Concat(o.members, o.hits[x.owner.client]))
	return slices.ContainsFunc(faults.outside(x.since, until), func(s span) bool { return s.to-s.from > cleanUp })
}

func (o *leftovers) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Session:
		o.event(r)
	case *history.Sample:
		o.check(r)
		switch {
		case r.Op == history.Release && r.Outcome == history.OK:
			o.released(r, n.N)
		case r.Op == history.Acquire && r.Outcome == history.OK:
			o.granted(r)
		case r.Op == history.Acquire:
			o.gaveUp(r, n.N)
		}
	}
}

func (o *leftovers) event(e *history.Session) {
	switch e.Event {
	case history.Opened:
		o.sessions[e.Session] = &owner{client: e.Client}
		o.current[e.Client] = e.Session
	case history.Lost, history.Expired, history.Closed, history.Killed:
		if s := o.sessions[e.Session]; s != nil && s.ended == 0 {
			s.ended = e.At
		}
	}
}

func (o *leftovers) suspect(n *node, since time.Duration, why string, record int, failed bool) {
	own := o.sessions[n.session]
	if own == nil || slices.ContainsFunc(o.suspects, func(s *leftover) bool { return s.node == n }) {
		return
	}
	o.suspects = append(o.suspects, &leftover{node: n, owner: own, since: since, why: why, record: record, failed: failed})
}

func (o *leftovers) released(s *history.Sample, record int) {
	o.judged++
	if n := o.line.find(s.Path, s.Token); n != nil && n.stoodAt(s.Zxid) {
		o.suspect(n, s.Return, "it was released, with success", record, false)
	}
}

// granted clears the node that the client holds by now.
func (o *leftovers) granted(s *history.Sample) {
	o.suspects = slices.DeleteFunc(o.suspects, func(x *leftover) bool { return x.failed && x.path == s.Path && x.czxid == s.Token })
}

// gaveUp suspects what the client has in line after its acquire has ended without a grant.
func (o *leftovers) gaveUp(s *history.Sample, record int) {
	o.judged++
	for _, n := range o.line.sessions[o.current[s.Client]] {
		i := slices.IndexFunc(o.suspects, func(x *leftover) bool { return x.node == n })
		switch {
		case i < 0:
			o.suspect(n, s.Return, "its acquire had ended without a grant", record, true)
		case o.line.youngest[n.session] == n.czxid:
			o.suspects[i].since = s.Return // that acquire may have waited by it
		}
	}
}

// check looks at the suspects as of a sample.
func (o *leftovers) check(s *history.Sample) {
	if len(o.suspects) == 0 {
		return
	}
	kept := o.suspects[:0]
	for _, x := range o.suspects {
		another := o.line.youngest[x.session] > x.czxid // the client has stood in line by another node since
		switch {
		case x.gone != 0 && !x.withSession: // it went by itself
		case x.gone != 0 && x.withSession && x.owner.ended > 0:
			if o.free(x, x.owner.ended) {
				o.report(x, x.owner.ended)
			}
		case x.gone == 0 && (another || !x.failed) && o.free(x, s.Call):
			o.report(x, s.Call)
		default:
			kept = append(kept, x)
		}
	}
	o.suspects = kept
}

func (o *leftovers) report(x *leftover, until time.Duration) {
	o.broken.add([]int{x.record}, "node %s (czxid %#x) of client %d still stood at %v, %v after %s (record %d), while its session %#x lived: it blocks all behind it",
		x.path, uint64(x.czxid), x.owner.client, until, (until - x.since).Round(time.Millisecond), x.why, x.record, uint64(x.session))
}

// finish judges what has stood until its session ended.
func (o *leftovers) finish(end time.Duration) {
	for _, x := range o.suspects {
		until := end
		if x.owner.ended > 0 {
			until = x.owner.ended
		}
		if (x.gone == 0 || x.withSession) && o.free(x, until) {
			o.report(x, until)
		}
	}
}
