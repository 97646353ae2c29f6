package verdict

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// items follows the items of a queue, for the guarantees of rule 9: nobody takes what
// nobody put, no item is delivered twice, and none is lost. By the commits, where there
// are any: which nodes held the item, and whose request removed them. Else by what the
// operations returned, and whether the queue was seen empty.
//
// It keeps 24 bytes for each item for good: a duplicate may come at any time.
type items struct {
	delivery string           // what the subject promises
	commits  *itemCommits     // nil where there are none
	open     map[string]*item // by identity: those that are not put with certainty and taken once
	taken    takenOnce        // the others
	spare    []*item          // are used again, so that little is allocated
	resolved bool
	puts     int
	takes    int
	unnamed  map[int]int   // by client: takes of unknown outcome that handed over nothing: each may have removed an item
	again    [][2]int      // records that took an item which was put again, of which nobody knows the identity any more
	emptied  time.Duration // when the queue was last seen empty; -1 if it never was
	lastPut  time.Duration // when the last put returned
}

// item is what is known of an item. The numbers of records and zxids are 0 where there
// is none.
type item struct {
	id         string
	put, taken int
	before     int           // record of a take before taken: it was delivered twice
	putAt      time.Duration // return of the put
	producer   int
	maybe      bool // the put's reply was lost: without commits there are 0 to several copies
	failed     bool // the put had certainly no effect
	had        bool // a take handed it over, though it could not know that it had removed it

	nodes
}

// nodes are an item's nodes, by the commits.
type nodes struct {
	path     string    // of the first
	in       *itemLine // where that stands
	made     int       // so many
	standing int       // of them
	again    int64     // transaction in which the producer made a second one in the same line
	remade   int64     // the last in which anybody did, but in one with the removal of the one before
	revived  bool      // that was when a take had handed it over already
	handed   int64     // what the first client had seen that handed it over; 0 where nobody knows
	created  int64     // transaction that made the first
	maker    int64     // session that made the first
	left     bool      // the first is gone
	moved    bool      // it has one in another folder than that
	gone     int64     // transaction that removed the last to go
	by       request
	passed   *item // an older one that stood when the first went; nil where it went in its turn
	passers  int   // so many have passed it before its put was recorded
	passer   *overtaking
}

// newItems follows the items of a history; l is what stands where, nil without commits.
func newItems(h *history.History, l *line) *items {
	q := &items{delivery: h.Header.Promises.Delivery, open: map[string]*item{}, taken: newTakenOnce(), unnamed: map[int]int{}, emptied: -1}
	if h.Header.Recipe == "" {
		q.delivery = ExactlyOnce
	}
	if l != nil {
		q.commits = newItemCommits(q, l)
	}
	return q
}

// drained says that the queue was taken empty after the last put.
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
		q.of(s.Item).had = true
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
	i := q.of(s.Item) // an item that was taken once is not searched: this is another copy of it
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

// of returns what is known of an item.
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

// settle puts an item aside of which nothing more should come.
func (q *items) settle(i *item) {
	if i.put == 0 || i.taken == 0 || i.before > 0 || i.failed {
		return
	}
	if q.commits == nil && i.maybe || q.commits != nil && (i.made != 1 || i.standing > 0) {
		return
	}
	delete(q.open, i.id)
	q.taken.add(i.id, i.taken)
	if q.commits == nil { // else it stands in the order of items
		q.spare = append(q.spare, i)
	}
}

// resolve parts those that were taken again from those that nobody ever put.
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
		i.put, i.had = somewhere, true
		i.revived = i.in != nil && q.commits.homes[i.in]
		i.made++ // the node that was taken the first time
	})
}

// somewhere stands for the record of the put of an item that was taken once, which nobody asks for.
const somewhere = 1

// sorted returns the items that are not put with certainty and taken once, by identity.
func (q *items) sorted() []*item {
	return slices.SortedFunc(maps.Values(q.open), func(a, b *item) int { return strings.Compare(a.id, b.id) })
}

// byCalls says that what is judged is judged by the calls alone, though there are commits.
func (q *items) byCalls() []string {
	if q.commits == nil || q.commits.linked {
		return nil
	}
	return []string{"no node shows an item that was put: judged by the calls alone"}
}

// verdict fails where something is broken; what names one of it.
func (q *items) verdict(broken evidence, what string) Verdict {
	switch {
	case broken.count > 0:
		return broken.fail(what)
	case q.takes == 0:
		return unknown("nothing was ever taken")
	}
	return pass(q.byCalls()...)
}
