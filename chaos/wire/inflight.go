package wire

import "time"

type sent struct {
	xid  int32
	op   Op
	at   time.Duration
	shot *shot // a rule that waits for the reply, or nil

	flags   int32 // of a create
	removes int64 // czxid of the session's node that a delete is for; 0 if unknown
}

// inflight is the queue of a connection's requests without replies, oldest first: a ring that grows
// to the deepest pipeline seen, so that a request costs no allocation.
type inflight struct {
	ring  []sent
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

func (q *inflight) last() *sent { return q.at(q.n - 1) }

// find returns the position of the oldest request with that xid. ZooKeeper replies in order, so it
// is nearly always the first; auth is answered before queued requests, and pings share one xid.
func (q *inflight) find(xid int32) (int, bool) {
	for i := range q.n {
		if q.at(i).xid == xid {
			return i, true
		}
	}
	return 0, false
}

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

func (q *inflight) clear() int {
	n := q.n
	*q = inflight{}
	return n
}
