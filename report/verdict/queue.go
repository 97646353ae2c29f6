package verdict

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"zkbench/report/history"
)

// items judges what rule 9 says about queues, as far as the operations alone
// can prove it: nobody takes what nobody put, no item is delivered twice, none
// that was put is left out although the queue was drained.
//
// It keeps some 20 bytes for each item for good: a duplicate may come at any time.
type items struct {
	states   map[string]item // by identity: what is not settled
	settled  settled
	puts     int
	takes    int
	open     int // takes of unknown outcome: each may have removed an item
	phantoms map[string]int
	twice    map[string][2]int // items delivered again, and the records that say so
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

// settled are the items of which nothing more should come, because they were put with
// certainty and taken once: the record that took each, by its identity's digest. There
// are many, and a map without pointers costs the collector nothing.
type settled struct {
	seeds [2]maphash.Seed
	taken map[digest]uint32
}

// digest stands for an identity. It is long enough that no two items ever share one,
// which would be a false alarm.
type digest [2]uint64

func (s *settled) digest(id string) digest {
	return digest{maphash.String(s.seeds[0], id), maphash.String(s.seeds[1], id)}
}

// somewhere stands for the record of a settled item's put, which nobody asks for.
const somewhere = 1

// drainPhase is the phase whose end says that the queue was taken empty.
const drainPhase = "drain"

func newQueue(h *history.History, s *seen) []checker {
	q := &items{states: map[string]item{}, settled: settled{[2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, map[digest]uint32{}},
		phantoms: map[string]int{}, twice: map[string][2]int{}, emptied: -1, vanished: map[string]gone{}}
	for _, p := range h.Phases {
		if p.Name == drainPhase && p.End > 0 {
			q.emptied = max(q.emptied, p.End)
		}
	}
	return []checker{
		{name: NoPhantom, applies: s.queueing, record: q.record, finish: func(time.Duration) Verdict { return q.noPhantom() }},
		{name: NoDuplicate, applies: s.queueing, finish: func(time.Duration) Verdict { return q.noDuplicate() }},
		newQueueFIFO(s),
		{name: NoLoss, applies: s.queueing, finish: func(time.Duration) Verdict { return q.noLoss() }},
	}
}

func (q *items) record(n history.Numbered) {
	s := n.Sample
	switch {
	case s == nil:
		q.note(n)
	case s.Op == history.Put:
		q.put(s, n.N)
	case s.Op == history.Take && s.Outcome == history.Unknown && s.Item != "":
		i := q.states[s.Item]
		i.had = true
		q.states[s.Item] = i
	case s.Op == history.Take && s.Outcome == history.Unknown:
		q.open++
	case s.Op == history.Take && s.Outcome == history.OK:
		q.take(s, n.N)
	}
}

func (q *items) note(n history.Numbered) {
	switch {
	case n.Note == nil:
	case n.Note.Kind == history.Emptied:
		q.emptied = max(q.emptied, n.Note.At)
	case n.Note.Kind == history.Committed && n.Note.Text != "":
		q.vanished[n.Note.Text] = gone{n.Note.Client, n.N, n.Note.Token}
	}
}

func (q *items) put(s *history.Sample, record int) {
	q.puts++
	q.lastPut = max(q.lastPut, s.Call)
	if s.Outcome == history.Failed {
		return
	}
	i := q.states[s.Item] // a settled item is not looked for: this is another copy of it
	i.put, i.maybe = record, i.maybe || s.Outcome == history.Unknown
	// The reply of the put may come after the item was taken.
	delete(q.phantoms, s.Item)
	if i.taken > 0 {
		q.keep(s.Item, q.settled.digest(s.Item), i)
		return
	}
	q.states[s.Item] = i
}

func (q *items) take(s *history.Sample, record int) {
	q.takes++
	i, d := q.states[s.Item], q.settled.digest(s.Item)
	if taken, ok := q.settled.taken[d]; ok {
		i.put, i.taken = max(i.put, somewhere), max(i.taken, int(taken))
	}
	if i.put == 0 {
		q.phantoms[s.Item] = record
	}
	if i.taken > 0 {
		q.twice[s.Item] = [2]int{i.taken, record}
	}
	i.taken = record
	q.keep(s.Item, d, i)
}

// keep keeps what is known of an item that was taken.
func (q *items) keep(id string, d digest, i item) {
	if i.put == 0 || i.maybe {
		q.states[id] = i
		return
	}
	delete(q.states, id)
	q.settled.taken[d] = uint32(i.taken)
}

func (q *items) noPhantom() Verdict {
	var broken evidence
	for _, id := range slices.Sorted(maps.Keys(q.phantoms)) {
		broken.add(func() string {
			return fmt.Sprintf("item %q was taken (record %d) and never put", id, q.phantoms[id])
		}, q.phantoms[id])
	}
	return q.conclude(broken, "phantoms")
}

// noDuplicate lets an item whose put had no reply be delivered more than once:
// there may be several copies of it (rule 10).
func (q *items) noDuplicate() Verdict {
	var broken evidence
	for _, id := range slices.Sorted(maps.Keys(q.twice)) {
		if at := q.twice[id]; !q.states[id].maybe {
			broken.add(func() string {
				return fmt.Sprintf("item %q was delivered twice, records %d and %d", id, at[0], at[1])
			}, at[0], at[1])
		}
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
