package verdict

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// items tracks the items of a queue, for the guarantees of rule 9: no item is taken that was not
// put, delivered twice, or lost. By the commits, if there are any: which nodes held the item, and
// whose request removed them. Otherwise by the results of operations, and whether the queue was
// seen empty.
//
// It keeps 24 bytes for each item until the end: a duplicate may come at any time.
type items struct {
	delivery string           // the subject's promise
	commits  *itemCommits     // nil without
	open     map[string]*item // by ID: items that are not certainly put and taken once
	taken    takenOnce        // the others
	spare    []*item          // reused, so that little is allocated
	resolved bool
	puts     int
	takes    int
	unnamed  map[int]int   // by client: takes of unknown outcome without an item: each may have removed one
	again    [][2]int      // records that took an item which was put again, whose ID is no longer known
	emptied  time.Duration // when the queue was last seen empty; -1 if never
	lastPut  time.Duration // when the last put returned
}

type item struct {
	id         string
	put, taken int
	before     int           // record of a take before taken: it was delivered twice
	putAt      time.Duration // return of the put
	producer   int
	maybe      bool // the put's reply was lost: without commits the number of copies is unknown
	failed     bool // the put certainly had no effect
	maybeTaken bool // a take handed it over without knowing whether it had removed it

	nodes
}

type nodes struct {
	path      string    // of the first
	in        *itemLine // its parent's line
	made      int       // number created
	standing  int       // number that exist
	again     int64     // transaction in which the producer created a second one in the same line
	remade    int64     // the last in which any client did, except one with the removal of the one before
	recreated bool      // that was after a take had handed it over
	handed    int64     // the knowledge of the first client that handed it over; 0 if unknown
	created   int64     // transaction that created the first
	maker     int64     // session that created the first
	left      bool      // the first was removed
	moved     bool      // it has one in another folder
	gone      int64     // transaction of the last removal
	by        request
	passed    *item // an older item that existed when the first was removed, or nil
	passers   int   // number of items that overtook it before its put was recorded
	passer    *overtaking
}

// newItems tracks the items of a history; l is nil without commits.
func newItems(h *history.History, l *nodeTable) *items {
	q := &items{delivery: h.Header.Promises.Delivery, open: map[string]*item{}, taken: newTakenOnce(), unnamed: map[int]int{}, emptied: -1}
	if h.Header.Recipe == "" {
		q.delivery = ExactlyOnce
	}
	if l != nil {
		q.commits = newItemCommits(q, l)
	}
	return q
}

// drained reports whether the queue was emptied after the last put.
func (q *items) drained() bool { return q.emptied >= q.lastPut }

func (q *items) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Sample:
		q.sample(r, n.N)
	case *history.Emptied:
		q.emptied = max(q.emptied, r.At)
	case *history.Session:
		if q.commits != nil {
			q.commits.event(r)
		}
	case *history.LostReply:
		if q.commits != nil {
			q.commits.lost[request{r.Session, r.Cxid}] = true
		}
	}
}

func (q *items) sample(s *history.Sample, record int) {
	if q.commits != nil {
		q.commits.knows(s)
	}
	switch {
	case s.Op == history.Put:
		q.put(s, record)
	case s.Op == history.Take && s.Outcome == history.Unknown && s.Item != "":
		q.of(s.Item).maybeTaken = true
	case s.Op == history.Take && s.Outcome == history.Unknown:
		q.unnamed[s.Client]++
	case s.Op == history.Take && s.Outcome == history.OK:
		q.take(s, record)
	}
}

func (q *items) put(s *history.Sample, record int) {
	q.puts++
	q.lastPut = max(q.lastPut, s.Return)
	if s.Outcome == history.Failed {
		q.of(s.Item).failed = true
		return
	}
	i := q.of(s.Item) // an item that was taken once is not tracked any longer: this is another copy of it
	i.put, i.putAt, i.producer, i.maybe = record, s.Return, s.Client, i.maybe || s.Outcome == history.Unknown
	if i.made > 0 {
		q.commits.link(i)
	}
	q.settle(i) // its reply may come after the item was taken
}

func (q *items) take(s *history.Sample, record int) {
	q.takes++
	i := q.of(s.Item)
	if i.taken > 0 {
		i.before = i.taken
	}
	i.taken = record
	if s.Zxid > 0 && (i.handed == 0 || s.Zxid < i.handed) {
		i.handed = s.Zxid
	}
	i.revive()
	if i.passed != nil {
		q.commits.order.overtook(i, s, record, q.commits.clientOf(i.by.session))
	}
	q.settle(i)
}

// of returns an item's state.
func (q *items) of(id string) *item {
	i := q.open[id]
	if i != nil {
		return i
	}
	if last := len(q.spare) - 1; last >= 0 {
		i, q.spare = q.spare[last], q.spare[:last]
	} else {
		i = new(item)
	}
	*i = item{id: id}
	q.open[id] = i
	return i
}

// settle stops tracking an item that is complete.
func (q *items) settle(i *item) {
	if i.put == 0 || i.taken == 0 || i.before > 0 || i.failed {
		return
	}
	if q.commits == nil && i.maybe || q.commits != nil && (i.made != 1 || i.standing > 0) {
		return
	}
	delete(q.open, i.id)
	q.taken.add(i.id, i.taken)
	if q.commits == nil { // otherwise it is in the order of items
		q.spare = append(q.spare, i)
	}
}

// resolve distinguishes items that were taken again from items that were never put.
func (q *items) resolve() {
	if q.resolved {
		return
	}
	q.resolved = true
	strange := map[digest]*item{}
	for id, i := range q.open {
		if i.put == 0 {
			strange[q.taken.digest(id)] = i
		}
	}
	q.taken.each(func(d digest, record, before int) {
		if before > 0 {
			q.again = append(q.again, [2]int{before, record})
		}
		i, ok := strange[d]
		if !ok {
			return
		}
		switch {
		case i.taken == 0:
			i.taken = record
		case i.before == 0 && i.taken != record:
			i.before = record
		}
		i.put, i.maybeTaken = unknownRecord, true
		i.recreated = i.in != nil && q.commits.homes[i.in]
		i.made++ // the node of the first take
	})
}

// unknownRecord represents the unneeded record of the put of an item that was taken once.
const unknownRecord = 1

// sorted returns the tracked items by ID.
func (q *items) sorted() []*item {
	return slices.SortedFunc(maps.Values(q.open), func(a, b *item) int { return strings.Compare(a.id, b.id) })
}

// byCalls returns the reason for judging by the calls alone, although there are commits.
func (q *items) byCalls() []string {
	if q.commits == nil || q.commits.linked {
		return nil
	}
	return []string{"no item has a node: evaluated by the calls alone"}
}

// verdict fails if something is broken; what names one instance.
func (q *items) verdict(broken evidence, what string) Verdict {
	switch {
	case broken.count > 0:
		return broken.fail(what)
	case q.takes == 0:
		return unknown("nothing was ever taken")
	}
	return pass(q.byCalls()...)
}
