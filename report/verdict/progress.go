package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const Progress = "progress"

func init() {
	register(Guarantee{
		Name: Progress, Rule: 8, Concerns: anyRecipe,
		Promise: "While the ensemble serves and sessions live, somebody who waits is granted, or given an item.",
		Harm:    "The lock is free, or its holder does not know of it, or items are there, and everybody waits.",
		Help:    "nobody was granted, or given an item, although nothing was in the way",
		check:   newProgress,
	})
}

// progress judges rule 8. Where there are snapshots of the line and no fault was in
// force: by what stands in it, and what those in it wait for (stuck.go). Else by a time
// limit: where no fault is in force or just over, nobody may wait longer than a dead
// session needs to expire while nobody holds.
//
// A queue is judged by deliveries (queueprogress.go).
//
// Beliefs come late, in the order of their start, and the waits as they end.
// Only waits longer than the limit are kept, until no idle time can meet them.
type progress struct {
	limit  time.Duration
	faults Spans // with the time to recover

	covered  time.Duration // up to here, idle times are known
	by       int           // record that ended the last belief
	waits    []wait        // long ones that have ended
	idle     []idle        // long idle times without a fault
	acquires int
	calm     int // acquires that returned without a fault near
	granted  int
	stuck    *stuck
	broken   evidence
}

type wait struct {
	client   int
	from, to time.Duration
	record   int
}

type idle struct {
	span
	after, before int  // the records around it
	cited         bool // it has broken the promise already
}

func newProgress(in *inputs) checker {
	p := &progress{limit: Patience(in.history), stuck: newStuck(in.history)}
	p.faults = Aftermath(in.history, p.limit)
	queue := newDeliveries(in.history)
	return checker{
		belief: p.belief,
		record: func(n history.Numbered) { p.record(n); queue.record(n) },
		finish: func(end time.Duration) Verdict {
			if p.acquires == 0 && queue.operations > 0 {
				return queue.finish()
			}
			return p.finish(end)
		},
	}
}

func (p *progress) record(n history.Numbered) {
	p.stuck.record(n)
	if s, ok := n.Record.(*history.Sample); ok && s.Op == history.Acquire {
		p.acquired(s, n.N)
	}
}

func (p *progress) acquired(s *history.Sample, record int) {
	p.acquires++
	if s.Outcome == history.OK {
		p.granted++
		if !p.faults.Touches(s.Call, s.Return) {
			p.calm++
		}
	}
	if p.limit > 0 && s.Return-s.Call > p.limit {
		p.waited(wait{client: s.Client, from: s.Call, to: s.Return, record: record})
	}
}

// waited compares a long wait with the idle times known so far, and keeps it
// for those that are not.
func (p *progress) waited(w wait) {
	for i := range p.idle {
		p.meet(&p.idle[i], w)
	}
	p.waits = append(p.waits, w)
}

func (p *progress) meet(i *idle, w wait) {
	from, to := max(i.from, w.from), min(i.to, w.to)
	if i.cited || to-from <= p.limit {
		return
	}
	i.cited = true
	p.broken.add([]int{i.after, w.record, i.before},
		"nobody held anything from %v to %v without a fault near, %v and more than the limit of %v, while client %d waited (record %d)",
		from, to, to-from, p.limit, w.client, w.record)
}

func (p *progress) belief(b Belief) {
	p.stuck.belief(b)
	p.gap(b.Start, b.Record)
	if b.End > p.covered {
		p.covered, p.by = b.End, b.EndRecord
	}
	if len(p.waits) > 64 {
		p.waits = slices.DeleteFunc(p.waits, func(w wait) bool { return w.to <= p.covered })
	}
}

// gap judges the idle time from the last belief's end until the instant.
func (p *progress) gap(until time.Duration, record int) {
	if p.limit == 0 || until-p.covered <= p.limit {
		return
	}
	for _, free := range p.faults.outside(p.covered, until) {
		if free.to-free.from <= p.limit {
			continue
		}
		i := idle{span: free, after: p.by, before: record}
		for _, w := range p.waits {
			p.meet(&i, w)
		}
		p.idle = append(p.idle, i)
	}
}

func (p *progress) finish(end time.Duration) Verdict {
	p.gap(end, 0)
	p.stuck.judge(&p.broken)
	switch {
	case p.broken.count > 0:
		return p.broken.fail("times without progress")
	case p.limit == 0:
		return unknown("the session timeout is not in the history: nobody can say how long is too long")
	case p.granted == 0:
		return unknown("nothing was ever granted")
	case p.calm == 0 && p.stuck.judged > 0:
		return pass(fmt.Sprintf("faults were near all the time; %d snapshots of the line were taken without, and nobody was stuck", p.stuck.judged))
	case p.calm == 0:
		return unknown("every acquire met a fault or its aftermath: progress is judged only without")
	}
	return pass()
}
