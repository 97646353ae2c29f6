package wire

import "time"

// sent is a request on its way, until its reply comes.
type sent struct {
	xid  int32
	op   Op
	at   time.Duration // when the client sent it
	shot *shot         // a rule that waits for the reply; mostly nil

	flags   int32 // of a create
	removes int64 // czxid of the session's node that a delete is for; 0: none that is known
}

// inflight is the queue of a connection's unanswered requests, oldest first. It
// is a ring that grows to the deepest pipeline seen, so that a request costs no
// allocation.
type inflight struct {
	ring  []sent // its length is a power of two
	first int
	n     int
}

func (q *inflight) at(i int) *sent { return &q.ring[(q.first+i)&(len(q.ring)-1)] }

func (q *inflight) push(s sent) {
	if q.n == len(q.ring) {
		bigger := make([]sent, max(8, 2*len(q.ring)))
		for i := range q.n {
			bigger[i] = *q.at(i)
		}
		q.ring, q.first = bigger, 0
	}
	q.n++
	*q.at(q.n - 1) = s
}

// last is the request that was pushed last.
func (q *inflight) last() *sent { return q.at(q.n - 1) }

// find returns the place of the oldest request with that xid. ZooKeeper answers
// in order, so it is nearly always the first; auth is answered ahead of what is
// queued, and pings share one xid.
func (q *inflight) find(xid int32) (int, bool) {
	for i := range q.n {
		if q.at(i).xid == xid {
			return i, true
		}
	}
	return 0, false
}

// remove takes the request at place i out.
func (q *inflight) remove(i int) sent {
	s := *q.at(i)
	for ; i > 0; i-- {
		*q.at(i) = *q.at(i - 1)
	}
	*q.at(0) = sent{}
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	return s
}

// clear forgets all requests and returns how many there were.
func (q *inflight) clear() int {
	n := q.n
	*q = inflight{}
	return n
}
