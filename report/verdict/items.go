package verdict

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// items follows the items of a queue, for the guarantees of rule 9: nobody takes what
// nobody put, no item is delivered twice, and none that was put is left out although the
// queue was emptied.
//
// It keeps 24 bytes for each item for good: a duplicate may come at any time.
type items struct {
	waiting  map[string]int  // by identity, what was put with certainty and is still to be taken: the put's record
	states   map[string]item // what is neither that nor taken once
	taken    takenOnce
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

func newItems() *items {
	return &items{waiting: map[string]int{}, states: map[string]item{}, taken: newTakenOnce(), twice: map[string][2]int{}, emptied: -1, vanished: map[string]gone{}}
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
		q.waiting[s.Item] = record // an item that was taken once is not searched: this is another copy of it
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
		q.taken.add(s.Item, record)
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
	q.taken.add(id, i.taken)
}

// resolve parts those that were taken again from those that nobody ever put.
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
			strange[q.taken.digest(id)] = id
		}
	}
	q.taken.each(func(d digest, record, before int) {
		if before > 0 {
			q.again = append(q.again, [2]int{before, record})
		}
		id, ok := strange[d]
		if !ok {
			return
		}
		i := q.states[id]
		if _, known := q.twice[id]; !known {
			q.twice[id] = [2]int{record, i.taken}
		}
		i.put = somewhere
		q.states[id] = i
	})
}

// somewhere stands for the record of the put of an item that was taken once, which nobody asks for.
const somewhere = 1

// verdict fails where something is broken; what names one of it.
func (q *items) verdict(broken evidence, what string) Verdict {
	switch {
	case broken.count > 0:
		return broken.fail(what)
	case q.takes == 0:
		return unknown("nothing was ever taken")
	}
	return pass()
}
