package queue

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Items tracks the items of a queue, for the guarantees of rule 9: every item that is taken was put, and
// no item is delivered twice or lost. It uses the commits, if there are any: they show which nodes held an
// item, and which requests removed them. Otherwise it uses the results of operations, and whether the
// queue was seen empty.
//
// It keeps 24 bytes for each item until the end: a duplicate may come at any time.
type Items struct {
	delivery string           // the subject's promise
	commits  *itemCommits     // nil without
	open     map[string]*Item // by ID: items that are not certainly put and taken once
	taken    takenOnce        // the other items
	resolved bool
	puts     int
	takes    int
	unnamed  map[int]int   // by client: takes of unknown outcome without an item: each may have removed one
	again    [][2]int      // records that took an item which was put again, whose ID is no longer known
	emptied  time.Duration // when the queue was last seen empty; -1 if never
	lastPut  time.Duration // when the last put returned
}

// Item is an item of a queue.
type Item struct {
	ID           string
	Put          int // record of its put; 0 if unknown
	taken        int
	before       int           // record of a take before taken: it was delivered twice
	PutAt        time.Duration // return of the put
	producer     int
	putUncertain bool // the put's reply was lost: without commits the number of copies is unknown
	failed       bool // the put certainly had no effect
	maybeTaken   bool // a take of unknown outcome returned it

	nodes
}

type nodes struct {
	path            string    // of the first node
	in              *itemLine // its parent's line
	nodeCount       int       // number created
	standing        int       // number that exist
	again           int64     // transaction in which the producer created a second node in the same line
	remade          int64     // the last transaction in which any client did, unless it also removed the previous node
	recreated       bool      // remade came after a take had handed the item over
	handed          int64     // lowest last known zxid of a client that handed it over; 0 if unknown
	created         int64     // transaction that created the first
	maker           int64     // session that created the first
	left            bool      // the first node was removed
	moved           bool      // a node of it was created in another folder
	gone            int64     // transaction of the last removal
	removedBy       request
	passed          *Item // an older item that existed when the first was removed, or nil
	passers         int   // number of items that overtook it before its put was recorded
	firstOvertaking *overtaking
}

// New tracks the items of a history; l is nil without commits.
func New(h *history.History, l *facts.NodeTable) *Items {
	q := &Items{delivery: h.Header.Promises.Delivery, open: map[string]*Item{}, taken: newTakenOnce(), unnamed: map[int]int{}, emptied: -1}
	if h.Header.Recipe == "" {
		q.delivery = facts.ExactlyOnce
	}
	if l != nil {
		q.commits = newItemCommits(q, l)
	}
	return q
}

// Record adds the next record.
func (q *Items) Record(n history.Numbered) {
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

func (q *Items) sample(s *history.Sample, record int) {
	if q.commits != nil {
		q.commits.noteZxid(s)
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

func (q *Items) put(s *history.Sample, record int) {
	q.puts++
	q.lastPut = max(q.lastPut, s.Return)
	if s.Outcome == history.Failed {
		q.of(s.Item).failed = true
		return
	}
	i := q.of(s.Item) // an item that was taken once is not tracked any longer: this is another copy of it
	i.Put, i.PutAt, i.producer, i.putUncertain = record, s.Return, s.Client, i.putUncertain || s.Outcome == history.Unknown
	if i.nodeCount > 0 {
		q.commits.link(i)
	}
	q.settle(i) // its reply may come after the item was taken
}

func (q *Items) take(s *history.Sample, record int) {
	q.takes++
	i := q.of(s.Item)
	if i.taken > 0 {
		i.before = i.taken
	}
	i.taken = record
	if s.Zxid > 0 && (i.handed == 0 || s.Zxid < i.handed) {
		i.handed = s.Zxid
	}
	i.markRecreated()
	if i.passed != nil {
		q.commits.order.overtook(i, s, record, q.commits.clientOf(i.removedBy.session))
	}
	q.settle(i)
}

func (q *Items) of(id string) *Item {
	i := q.open[id]
	if i != nil {
		return i
	}
	i = &Item{ID: id}
	q.open[id] = i
	return i
}

// settle stops tracking an item that is complete.
func (q *Items) settle(i *Item) {
	if i.Put == 0 || i.taken == 0 || i.before > 0 || i.failed {
		return
	}
	if q.commits == nil && i.putUncertain || q.commits != nil && (i.nodeCount != 1 || i.standing > 0) {
		return
	}
	delete(q.open, i.ID)
	q.taken.add(i.ID, i.taken)
}

// resolve distinguishes items that were taken again from items that were never put.
func (q *Items) resolve() {
	if q.resolved {
		return
	}
	q.resolved = true
	strange := map[digest]*Item{}
	for id, i := range q.open {
		if i.Put == 0 {
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
		i.Put, i.maybeTaken = unknownRecord, true
		i.recreated = i.in != nil && q.commits.homes[i.in]
		i.nodeCount++ // the node of the first take
	})
}

// unknownRecord replaces the record of the put of an item that was taken once, which is not needed.
const unknownRecord = 1

// sorted returns the tracked items by ID.
func (q *Items) sorted() []*Item {
	return slices.SortedFunc(maps.Values(q.open), func(a, b *Item) int { return strings.Compare(a.ID, b.ID) })
}

// KeepsNodes reports whether the queue keeps the nodes of taken items: then an existing item may have been
// taken by a take of unknown outcome.
func (q *Items) KeepsNodes() bool {
	return q.commits != nil && q.commits.linked && q.takes > 0 && !q.commits.order.removed()
}

// UnnamedTakes returns the number of takes of unknown outcome without an item.
func (q *Items) UnnamedTakes() (n int) {
	for _, takes := range q.unnamed {
		n += takes
	}
	return n
}

// byCalls returns a reason if items are checked by the calls alone although there are commits, or nil.
func (q *Items) byCalls() []string {
	if q.commits == nil || q.commits.linked {
		return nil
	}
	return []string{"no item has a node: only the clients' calls were evaluated"}
}

// verdict returns a failure if there is evidence; what names the findings, in the plural.
func (q *Items) verdict(broken evidence, what string) Verdict {
	switch {
	case broken.Count > 0:
		return broken.Fail(what)
	case q.takes == 0:
		return unknown("no item was ever taken")
	}
	return pass(q.byCalls()...)
}

// NoDuplicate checks for items that were delivered twice, or stored twice by one put, so that the
// second copy would be delivered too. Without commits an item whose put had no reply may be delivered
// more than once: there may be several copies of it (rule 10).
func (q *Items) NoDuplicate(cut bool) Verdict {
	q.resolve()
	var broken evidence
	decided := q.commits != nil && q.commits.linked && q.commits.line.IncompleteReason() == ""
	for _, i := range q.sorted() {
		switch {
		case i.putUncertain && !decided, i.Put == 0 && cut:
		case i.before > 0:
			broken.Add([]int{i.before, i.taken}, "item %q was delivered twice, records %d and %d", i.ID, i.before, i.taken)
		case i.nodes.again > 0 && i.Put > 0:
			broken.Add([]int{i.Put}, "item %q was put once (record %d), but its producer created two nodes for it, at zxid %#x and %#x",
				i.ID, i.Put, uint64(i.created), uint64(i.nodes.again))
		case i.recreated:
			broken.Add([]int{i.taken}, "item %q was in the queue again after its delivery: a node with its data was created at zxid %#x",
				i.ID, uint64(max(i.remade, i.created)))
		}
	}
	slices.SortFunc(q.again, func(a, b [2]int) int { return a[1] - b[1] })
	for _, at := range q.again {
		broken.Add([]int{at[0], at[1]}, "one item was put again and delivered twice, records %d and %d", at[0], at[1])
	}
	if broken.Count > 0 && q.delivery == AtLeastOnce {
		return pass(fmt.Sprintf("%d items were delivered or stored twice, which %s delivery allows", broken.Count, q.delivery))
	}
	return q.verdict(broken, "duplicates")
}

// NoPhantom allows a take of an item whose put has not returned, if the commits show its node.
func (q *Items) NoPhantom(cut bool) Verdict {
	q.resolve()
	var broken evidence
	for _, i := range q.sorted() {
		switch {
		case i.taken == 0 || i.Put > 0:
		case i.failed:
			broken.Add([]int{i.taken}, "item %q was taken (record %d) but never put: its put had failed", i.ID, i.taken)
		case i.nodeCount == 0 && !cut:
			broken.Add([]int{i.taken}, "item %q was taken (record %d) but never put", i.ID, i.taken)
		}
	}
	return q.verdict(broken, "phantoms")
}

// takenOnce holds the items that were certainly put and taken once: the record that took each, by a
// hash of its ID. It is read only at the end, in parts that fit the processor's cache: a map of all
// items would wait for memory at every item.
type takenOnce struct {
	seeds [2]maphash.Seed
	parts [256][]takenItem
}

type takenItem struct {
	digest digest
	record int
}

// digest is a hash of an ID, long enough that no two items share one, which would be a false alarm.
type digest [2]uint64

func newTakenOnce() takenOnce {
	return takenOnce{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

func (s *takenOnce) digest(id string) digest {
	return digest{maphash.String(s.seeds[0], id), maphash.String(s.seeds[1], id)}
}

func (s *takenOnce) add(id string, record int) {
	d := s.digest(id)
	p := &s.parts[byte(d[0])]
	*p = append(*p, takenItem{d, record})
}

// each yields every item and the record that took it; for the same item, in the order of the records.
// before is the item's previous record, or 0.
func (s *takenOnce) each(yield func(d digest, record, before int)) {
	last := map[digest]int{}
	for _, part := range s.parts {
		clear(last)
		for _, i := range part {
			yield(i.digest, i.record, last[i.digest])
			last[i.digest] = i.record
		}
	}
}

// NoLoss checks by the commits if they show the items.
func (q *Items) NoLoss(cut bool) Verdict {
	q.resolve()
	if cut {
		return notJudged("it is unknown which items were taken")
	}
	if q.commits != nil && q.commits.linked {
		return q.lossByCommits()
	}
	return q.lossByCalls()
}

// lossByCommits checks every item whose nodes are all removed and that no take has handed over, and
// every item that was put successfully and never had a node. Items that exist at the end are not
// lost. Losses that the client could not prevent are excused (see excused).
func (q *Items) lossByCommits() Verdict {
	if why := q.commits.line.IncompleteReason(); why != "" {
		return unknown(why)
	}
	var broken evidence
	excused, standing, astray := 0, 0, 0
	var unseen []*Item // not taken, and possibly in nodes that do not show them
	hidden := false    // some items cannot be recognized by their nodes' data
	for _, i := range q.open {
		hidden = hidden || i.taken > 0 && i.nodeCount == 0
	}
	for _, i := range q.sorted() {
		switch {
		case i.taken > 0 || i.maybeTaken || i.Put == 0:
		case q.movedUndelivered(i):
			astray++
		case i.standing > 0:
			standing++
		case i.nodeCount == 0 && i.putUncertain:
		case i.nodeCount == 0 && hidden:
			unseen = append(unseen, i)
		case i.nodeCount == 0:
			broken.Add([]int{i.Put}, "item %q was put successfully (record %d), but no transaction ever added it to the queue", i.ID, i.Put)
		case i.putUncertain && q.commits.clientOf(i.removedBy.session) == i.producer: // withdrawn
		case q.excused(i):
			excused++
		default:
			broken.Add([]int{i.Put}, "item %q was put (record %d) and removed by client %d at zxid %#x (node %s, session %#x), but no take returned it",
				i.ID, i.Put, q.commits.clientOf(i.removedBy.session), uint64(i.gone), i.path, uint64(i.removedBy.session))
		}
	}
	if len(unseen) > 0 && broken.Count == 0 {
		return q.notTaken(unseen)
	}
	var notes []string
	if standing > 0 {
		notes = append(notes, fmt.Sprintf("%s still in the queue at the end", units.Plural(standing, "item")))
	}
	if excused > 0 {
		notes = append(notes, fmt.Sprintf("%s removed by a client that was killed, or that never received the reply to the removal", units.Plural(excused, "item")))
	}
	switch {
	case broken.Count > 0:
		return broken.Fail("items")
	case q.puts == 0:
		return unknown("no item was ever put")
	case astray > 0:
		return unknown(append(notes, fmt.Sprintf("%s in another folder at the end and not delivered: it is unknown whether a delivery would have followed", units.Plural(astray, "item")))...)
	}
	return pass(notes...)
}

// excused reports whether the loss of an item does not break the promise: the client that removed
// it was killed, or its session ended, before it received any reply after the removal. A queue that
// promises at-most-once may also lose an item with the reply. A queue that promises at-least-once must
// not remove an item before it hands it out, so nothing excuses it.
func (q *Items) excused(i *Item) bool {
	by := q.commits.sessions[i.removedBy.session]
	switch {
	case by == nil || q.delivery == AtLeastOnce:
		return false
	case q.commits.couldNotDeliver(i):
		return true
	case q.delivery != AtMostOnce:
		return false
	case q.commits.lost[i.removedBy]:
		return true
	}
	q.unnamed[by.client]-- // it may have been that take
	return q.unnamed[by.client] >= 0
}

// lossByCalls needs a queue that was emptied. As many items as takes without a reply may be lost
// with them.
func (q *Items) lossByCalls() Verdict {
	var missing []*Item
	for _, i := range q.sorted() {
		if i.Put > 0 && i.taken == 0 && !i.maybeTaken && !i.putUncertain {
			missing = append(missing, i)
		}
	}
	switch {
	case q.puts == 0 || q.takes == 0:
		return unknown("no items were ever put and taken")
	case len(missing) == 0:
		return pass(q.byCalls()...)
	}
	return q.notTaken(missing)
}

// notTaken checks items that were put and that no take handed over, without commits that show them.
func (q *Items) notTaken(missing []*Item) Verdict {
	unnamed := q.UnnamedTakes()
	switch {
	case q.emptied < q.lastPut:
		return unknown(fmt.Sprintf("%d items were put and not taken, but the queue was not drained: they may still be in it", len(missing)))
	case len(missing) <= unnamed:
		return unknown(fmt.Sprintf("%d items were put and not taken, but %d takes had no reply and may have taken them", len(missing), unnamed))
	}
	var broken evidence
	for _, i := range missing {
		broken.Add([]int{i.Put}, "item %q was put (record %d) and not taken, although the queue was drained", i.ID, i.Put)
	}
	v := broken.Fail("items")
	if unnamed > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%d takes without a reply can explain at most as many of the %d missing items", unnamed, len(missing)))
	}
	return v
}
