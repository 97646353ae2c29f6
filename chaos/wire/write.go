package wire

import (
	"fmt"
	"time"
)

// queueLimit bounds the bytes kept for a held client: a connection that exceeds it is cut.
const queueLimit = 16 << 20

type item struct {
	data     []byte
	holdRule *armedRule
	cut      *armedRule // cuts the connection once data is written
}

// writeSlow implements Write while a rule is armed, the client is held or bytes are queued. The caller holds wmu.
func (k *conn) writeSlow(p []byte, now time.Duration) (int, error) {
	if err := k.enqueue(p, now); err != nil {
		k.end(err, nil)
		return 0, err
	}
	if err := k.drain(); err != nil {
		return 0, err
	}
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	if k.refused {
		return 0, ErrCut
	}
	return len(p), nil
}

func (k *conn) enqueue(p []byte, now time.Duration) error {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.endErr != nil {
		return k.endErr
	}
	c.counts.BytesOut += int64(len(p))
	decide := func(m mark, free bool) decision {
		q := k.request(m, now)
		if q == nil || !free {
			return pass
		}
		if s := k.match(*q, pathIn(k.out.scan.head, q.op)); s != nil {
			return k.apply(s, q)
		}
		return pass
	}
	k.out.run(p, len(c.armedRules) > 0, decide, k.put)
	if c.counts.Queued > queueLimit && c.hold != nil {
		return fmt.Errorf("client %d sent %d bytes while its messages were held; the limit is %d: %w",
			c.number, c.counts.Queued, queueLimit, ErrCut)
	}
	return nil
}

// apply applies a rule to a request that it matches, and whose bytes the filter still keeps. The caller holds c.mu.
func (k *conn) apply(s *armedRule, q *pendingRequest) decision {
	switch s.rule.Act {
	case DropReply, HoldReply, CutReplied:
		q.armed = s
	case HoldRequest:
		k.queue = append(k.queue, item{holdRule: s})
		s.fire(nil)
	case DropRequest, CutBefore:
		k.refused = s.rule.Act == CutBefore
		k.queue = append(k.queue, item{cut: s})
		return drop
	}
	return pass
}

func (k *conn) put(p []byte) {
	if n := len(k.queue); n == 0 || k.queue[n-1].cut != nil {
		k.queue = append(k.queue, item{})
	}
	last := &k.queue[len(k.queue)-1]
	last.data = append(last.data, p...)
	k.c.counts.Queued += int64(len(p))
}

// flush writes the data that may be sent after the end of a hold or the release of a request.
func (k *conn) flush() {
	k.wmu.Lock()
	defer k.wmu.Unlock()
	// The write of these bytes has returned, and its deadline has passed.
	if k.Conn.SetWriteDeadline(time.Time{}) == nil {
		_ = k.drain() // on an error the connection has ended, which the client sees there
	}
}

// drain writes as much of the queue as allowed. The caller holds wmu.
func (k *conn) drain() error {
	for {
		next, ok := k.dequeue()
		if !ok {
			return nil
		}
		if _, err := k.Conn.Write(next.data); err != nil {
			return k.endOnError(err)
		}
		if next.holdRule != nil {
			k.c.mu.Lock()
			next.holdRule.fire(nil)
			next.holdRule.retire()
			k.c.mu.Unlock()
		}
		if next.cut != nil {
			k.end(ErrCut, next.cut)
		}
	}
}

func (k *conn) dequeue() (item, bool) {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.endErr != nil || c.hold != nil || len(k.queue) == 0 {
		return item{}, false
	}
	next := k.queue[0]
	if g := next.holdRule; g != nil && !g.isReleased {
		return item{}, false
	}
	k.queue = k.queue[1:]
	c.counts.Queued -= int64(len(next.data))
	return next, true
}

// The caller holds c.mu.
func (k *conn) dropQueue() {
	for _, it := range k.queue {
		k.c.counts.Queued -= int64(len(it.data))
	}
	k.queue = nil
}
