package verdict

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// permitsInUse follows how many permits of a semaphore are in use. A permit that no client is ever granted does not
// stop the others, so that the times between two grants stay within the limit. As long as not all permits are in use,
// the times that are too long for a hand-off (facts.Margin) are added up.
type permitsInUse struct {
	ends   []time.Duration // of the use of permits, in their order
	start  time.Duration   // of the last belief
	record int             // of that
	unused *time.Duration  // sum of the times in which a client waited, since all permits were in use or a fault was near
}

// check checks the time from the last grant to the next.
func (u *permitsInUse) check(p *progress, until time.Duration, record int) {
	from := u.start
	if i := len(u.ends) - p.permits; i >= 0 {
		from = max(from, min(u.ends[i], until))
	}
	if from > u.start || u.unused == nil || p.faults.Touches(u.start, until) {
		u.unused = new(time.Duration)
	}
	if p.permits > 1 && !p.faults.Touches(from, until) {
		p.addIdle(idle{Span: facts.Span{From: from, To: until}, limit: facts.Margin, unused: u.unused, after: u.record, before: record})
	}
}

// add adds a belief. If the client has not released, its permit is in use until its session has certainly ended, or
// for ever if a client that is not notified may still hold it.
func (u *permitsInUse) add(p *progress, b facts.Belief) {
	end := b.End
	switch {
	case b.EndReason == string(history.Deadline) && !p.notifiesHolders:
		end = facts.Forever
	case b.EndReason != facts.Released:
		end += p.limit
	}
	u.ends = slices.DeleteFunc(u.ends, func(end time.Duration) bool { return end <= b.Start })
	i, _ := slices.BinarySearch(u.ends, end)
	u.ends, u.start, u.record = slices.Insert(u.ends, i, end), b.Start, b.Record
}

func (p *progress) checkUnused(i *idle, from, to time.Duration, w wait) {
	if *i.unused > p.limit {
		return
	}
	if *i.unused += to - from; *i.unused > p.limit {
		p.slow.Add([]int{i.after, w.record, i.before},
			"fewer than %d clients held, without a fault, while others waited: the times without a grant, the last from %v to %v while client %d waited (record %d), add up to %v, more than the limit of %v",
			p.permits, from, to, w.client, w.record, *i.unused, p.limit)
	}
}
