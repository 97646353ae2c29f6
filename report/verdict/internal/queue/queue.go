// Package queue checks what becomes of the items of a queue.
package queue

import (
	"container/list"
	"hash/maphash"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict/internal/finding"
)

// Delivery promises of a queue, as history.Promises.Delivery.
const (
	AtLeastOnce = "at-least-once"
	AtMostOnce  = "at-most-once"
)

// Verdict is the result of a check.
type Verdict = finding.Verdict

type evidence = finding.Evidence

func pass(reasons ...string) Verdict    { return finding.Conclude(finding.Pass, reasons...) }
func unknown(reasons ...string) Verdict { return finding.Conclude(finding.Unknown, reasons...) }
func notJudged(reasons ...string) Verdict {
	return finding.Conclude(finding.NotJudged, reasons...)
}

// Items tracks the items of a queue, for the guarantees of queues: every item that is taken was put, no
// item is delivered twice or lost, and items leave the queue in order. It uses the commits, if there are
// any: they show which nodes held an item, and which requests removed them. Otherwise it uses the results
// of operations, and whether the queue was seen empty.
type Items struct {
	delivery string           // the subject's promise
	commits  *facts.NodeTable // the consumers' nodes; nil without commits
	open     map[string]*Item // by ID: items that are not certainly put and taken once

	taken [256][]takenItem // the other items by the first byte of their digest, until they are compared
	again [][2]int         // records that took an item which was put again, whose ID is no longer known
	seeds [2]maphash.Seed

	puts    int
	takes   int
	unnamed map[int]int   // by client: takes of unknown outcome without an item: each may have removed one
	emptied time.Duration // when the queue was last seen empty; -1 if never
	lastPut time.Duration // when the last put returned

	// By the commits.
	linked   bool             // an item that was put was found in a node: items are recognizable by their nodes' data
	nodes    map[string]*Item // by the path of an existing node
	folders  map[string]*folder
	sessions map[int64]*session
	current  map[int]int64 // session, by client
	lost     map[request]bool

	// The order in which items left, by the commits.
	removed          bool         // an item's node was removed: some queues keep the nodes, and store in them which are completed
	orderChecked     int          // items whose order was checked: they left before they were handed over
	overtakings      int          // number known so far
	firstOvertakings []overtaking // the first overtakings
	undecided        []*Item      // overtaken nodes that may not be items
}

// Item is an item of a queue, from when it is put until it is put again.
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

	path            string        // of the first node
	folder          *folder       // of the first node
	place           *list.Element // in the folder, until the first node is removed
	nodeCount       int           // number created
	existing        int           // number that exist
	secondNode      int64         // transaction in which the producer created a second node in the same folder
	recreatedZxid   int64         // the last transaction in which any client created one, unless that also removed the previous node
	recreated       bool          // recreatedZxid came after a take had delivered the item
	handedZxid      int64         // lowest zxid that a client knew when it delivered the item; 0 if unknown
	createdZxid     int64         // transaction that created the first node
	creator         int64         // session that created the first node
	left            bool          // the first node was removed
	moved           bool          // a node of it was created in another folder
	removedZxid     int64         // transaction of the last removal
	removedBy       request
	changedBy       int64       // session of the last change of the first node's data, which may be a claim
	overtaken       *Item       // an older item that existed when the first node was removed, or nil
	overtakers      int         // number of items that overtook it before its put was recorded
	firstOvertaking *overtaking // by the first of them
}

type request struct {
	session int64
	cxid    int32
}

type session struct {
	client   int
	seenZxid int64 // highest zxid that the client had seen by its last operation
	killed   bool  // the harness killed the client
	ended    bool  // the client was notified of the session's end
}

// New tracks the items of a history; l is nil without commits.
func New(h *history.History, l *facts.NodeTable) *Items {
	q := &Items{
		delivery: h.Header.Promises.Delivery, commits: l, emptied: -1,
		open: map[string]*Item{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		unnamed: map[int]int{},
		nodes:   map[string]*Item{}, folders: map[string]*folder{}, sessions: map[int64]*session{}, current: map[int]int64{}, lost: map[request]bool{},
	}
	if h.Header.Recipe == "" {
		q.delivery = facts.ExactlyOnce
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
		q.event(r)
	case *history.LostReply:
		q.lost[request{r.Session, r.Cxid}] = true
	}
}

func (q *Items) sample(s *history.Sample, record int) {
	if w := q.sessions[q.current[s.Client]]; w != nil && !w.ended && !w.killed {
		w.seenZxid = max(w.seenZxid, s.Zxid)
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
	i := q.of(s.Item)
	if s.Outcome == history.Failed {
		i.failed = true
		return
	}
	i.Put, i.PutAt, i.producer, i.putUncertain = record, s.Return, s.Client, i.putUncertain || s.Outcome == history.Unknown
	q.link(i)
	q.settle(i) // its reply may come after the item was taken
}

func (q *Items) take(s *history.Sample, record int) {
	q.takes++
	i := q.of(s.Item)
	i.before, i.taken = i.taken, record
	if s.Zxid > 0 && (i.handedZxid == 0 || s.Zxid < i.handedZxid) {
		i.handedZxid = s.Zxid
	}
	i.markRecreated()
	q.checkOvertaking(i, s.Client, record)
	q.settle(i)
}

// item returns the tracked item with that ID. It begins to track a new item if none is tracked, as after an item was put and taken once.
func (q *Items) of(id string) *Item {
	i := facts.ValueAt(q.open, id)
	i.ID = id
	return i
}

// settle stops tracking an item that was certainly put and taken once.
func (q *Items) settle(i *Item) {
	if i.Put == 0 || i.taken == 0 || i.before > 0 || i.failed {
		return
	}
	if q.commits == nil && i.putUncertain || q.commits != nil && (i.nodeCount != 1 || i.existing > 0) {
		return
	}
	delete(q.open, i.ID)
	d := q.digest(i.ID)
	part := &q.taken[byte(d[0])]
	*part = append(*part, takenItem{d, i.taken})
}

// takenItem is an item that was certainly put and taken once. Duplicates are searched at the end,
// one part at a time, so that a part fits the processor's cache: a map of all items would miss the cache at every item.
type takenItem struct {
	digest digest
	record int // of the take
}

// digest is a hash of an ID, long enough that no two items share one, which would be a false alarm.
type digest [2]uint64

func (q *Items) digest(id string) digest {
	return digest{maphash.String(q.seeds[0], id), maphash.String(q.seeds[1], id)}
}
