package verdict

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// items judges what rule 9 says about queues, as far as the operations alone
// can prove it: nobody takes what nobody put, no item is delivered twice, none
// that was put is left out although the queue was drained.
//
// It keeps 24 bytes for each item for good: a duplicate may come at any time.
type items struct {
	waiting  map[string]int  // by identity, what was put with certainty and is still to be taken: the put's record
	states   map[string]item // what is neither that nor settled
	settled  settled
	resolved bool
	puts     int
	takes    int
	open     int               // takes of unknown outcome: each may have removed an item
	twice    map[string][2]int // items delivered again, and the records that say so
	again    [][2]int          // the same of items that were put again as well, of which nobody knows the identity any more
	emptied  time.Duration     // when the queue was last seen empty; -1 if it never was
	lastPut  time.Duration     // when the last put was called
	vanished map[string]gone   // items whose delete was carried out and its reply lost
}

// gone is a delete that the wire proves and whose reply never arrived.
type gone struct {
	client, record int
	zxid           int64
}

// drained says that the queue was taken empty after the last put.
func (q *items) drained() bool { return q.emptied >= q.lastPut }

type item struct {
	put, taken int  // record numbers
	maybe      bool // the put's reply was lost: there are 0 to several copies
	had        bool // a take handed it over, though it could not know that it had removed it
}

func newQueue(s *seen) []checker {
	q := &items{waiting: map[string]int{}, states: map[string]item{}, settled: newSettled(), twice: map[string][2]int{}, emptied: -1, vanished: map[string]gone{}}
	return []checker{
		{record: q.record},
		{name: NoPhantom, applies: s.queueing, finish: func(time.Duration) Verdict { return q.noPhantom() }},
		{name: NoDuplicate, applies: s.queueing, finish: func(time.Duration) Verdict { return q.noDuplicate() }},
		newQueueFIFO(s),
		{name: NoLoss, applies: s.queueing, finish: func(time.Duration) Verdict { return q.noLoss() }},
	}
}

func (q *items) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Sample:
		q.sample(r, n.N)
	case *history.Emptied:
		q.emptied = max(q.emptied, r.At)
	case *history.Committed:
		if r.Item != "" {
			q.vanished[r.Item] = gone{r.Client, n.N, r.Zxid}
		}
	}
}

func (q *items) sample(s *history.Sample, record int) {
	switch {
	case s.Op == history.Put:
		q.put(s, record)
	case s.Op == history.Take && s.Outcome == history.Unknown && s.Item != "":
		i := q.state(s.Item)
		i.had = true
		q.states[s.Item] = i
	case s.Op == history.Take && s.Outcome == history.Unknown:
		q.open++
	case s.Op == history.Take && s.Outcome == history.OK:
		q.take(s, record)
	}
}

func (q *items) put(s *history.Sample, record int) {
	q.puts++
	q.lastPut = max(q.lastPut, s.Call)
	if s.Outcome == history.Failed {
		return
	}
	if _, strange := q.states[s.Item]; !strange && s.Outcome == history.OK {
		q.waiting[s.Item] = record // a settled item is not looked for: this is another copy of it
		return
	}
	i := q.state(s.Item)
	i.put, i.maybe = record, i.maybe || s.Outcome == history.Unknown
	q.keep(s.Item, i) // its reply may come after the item was taken
}

func (q *items) take(s *history.Sample, record int) {
	q.takes++
	if _, ok := q.waiting[s.Item]; ok {
		delete(q.waiting, s.Item)
		q.settled.add(s.Item, record)
		return
	}
	i := q.states[s.Item]
	if i.taken > 0 {
		q.twice[s.Item] = [2]int{i.taken, record}
	}
	i.taken = record
	q.keep(s.Item, i)
}

// state returns what is known of an item that is not as it should be any more.
func (q *items) state(id string) item {
	if put, ok := q.waiting[id]; ok {
		delete(q.waiting, id)
		return item{put: put}
	}
	return q.states[id]
}

// keep keeps what is known of an item.
func (q *items) keep(id string, i item) {
	if i.put == 0 || i.taken == 0 || i.maybe {
		q.states[id] = i
		return
	}
	delete(q.states, id)
	q.settled.add(id, i.taken)
}

// resolve tells those that were taken again from those that nobody ever put.
func (q *items) resolve() {
	if q.resolved {
		return
	}
	q.resolved = true
	for id := range q.waiting {
		q.states[id] = q.state(id)
	}
	strange := map[digest]string{}
	for id, i := range q.states {
		if i.put == 0 && i.taken > 0 {
			strange[q.settled.digest(id)] = id
		}
	}
	q.settled.each(func(d digest, record, before int) {
		if before > 0 {
			q.again = append(q.again, [2]int{before, record})
		}
		id, ok := strange[d]
		if !ok {
			return
		}
		i := q.states[id]
		if _, told := q.twice[id]; !told {
			q.twice[id] = [2]int{record, i.taken}
		}
		i.put = somewhere
		q.states[id] = i
	})
}

// somewhere stands for the record of a settled item's put, which nobody asks for.
const somewhere = 1

func (q *items) noPhantom() Verdict {
	q.resolve()
	var broken evidence
	for _, id := range slices.Sorted(maps.Keys(q.states)) {
		if i := q.states[id]; i.put == 0 && i.taken > 0 {
			broken.add(func() string { return fmt.Sprintf("item %q was taken (record %d) and never put", id, i.taken) }, i.taken)
		}
	}
	return q.conclude(broken, "phantoms")
}

// noDuplicate lets an item whose put had no reply be delivered more than once:
// there may be several copies of it (rule 10).
func (q *items) noDuplicate() Verdict {
	q.resolve()
	var broken evidence
	for _, id := range slices.Sorted(maps.Keys(q.twice)) {
		if at := q.twice[id]; !q.states[id].maybe {
			broken.add(func() string {
				return fmt.Sprintf("item %q was delivered twice, records %d and %d", id, at[0], at[1])
			}, at[0], at[1])
		}
	}
	slices.SortFunc(q.again, func(a, b [2]int) int { return a[1] - b[1] })
	for _, at := range q.again {
		broken.add(func() string {
			return fmt.Sprintf("one item was put again and delivered twice, records %d and %d", at[0], at[1])
		}, at[0], at[1])
	}
	return q.conclude(broken, "duplicates")
}

func (q *items) conclude(broken evidence, what string) Verdict {
	switch {
	case broken.count > 0:
		return broken.fail(what)
	case q.takes == 0:
		return unknown("nothing was ever taken")
	}
	return pass()
}

// noLoss needs a queue that was taken empty. As many items as there are takes
// without a reply may be gone with them.
func (q *items) noLoss() Verdict {
	q.resolve()
	var missing []string
	for id, i := range q.states {
		if i.put > 0 && i.taken == 0 && !i.had && !i.maybe {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	if v, lost := q.deleted(missing); lost {
		return v
	}
	switch {
	case q.puts == 0 || q.takes == 0:
		return unknown("nothing was ever put and taken")
	case len(missing) == 0:
		return pass()
	case !q.drained():
		return unknown(fmt.Sprintf("%d items were put and not taken, but the queue was not drained: they may still be in it", len(missing)))
	case len(missing) <= q.open:
		return unknown(fmt.Sprintf("%d items were put and not taken, but %d takes had no reply and may have taken them", len(missing), q.open))
	}
	var broken evidence
	for _, id := range missing {
		broken.add(func() string {
			return fmt.Sprintf("item %q was put (record %d) and not taken, although the queue was drained", id, q.states[id].put)
		}, q.states[id].put)
	}
	v := broken.fail("items")
	if q.open > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%d takes without a reply explain only as many of the %d", q.open, len(missing)))
	}
	return v
}

// deleted judges those of the missing items of which the wire shows that they were
// deleted: no draining can find them any more, and no take without a reply explains
// them, since the one that deleted them is known.
func (q *items) deleted(missing []string) (Verdict, bool) {
	var lost evidence
	for _, id := range missing {
		if g, ok := q.vanished[id]; ok {
			lost.add(func() string {
				return fmt.Sprintf("item %q was put (record %d) and deleted by client %d at zxid %#x, as the wire shows (record %d); the reply was lost, and no take handed the item over",
					id, q.states[id].put, g.client, uint64(g.zxid), g.record)
			}, q.states[id].put, g.record)
		}
	}
	return lost.fail("items"), lost.count > 0
}
