package wire

import (
	"errors"
	"net"
	"slices"
)

// failed handles an error of the raw connection, and returns the error for the client. A deadline
// does not end the connection.
func (k *conn) failed(err error) error {
	if isTimeout(err) {
		return err
	}
	k.end(err, nil)
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	if errors.Is(k.why, ErrCut) {
		return k.why // rather than that the raw connection is closed
	}
	return err
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// end ends the connection once; it returns false if it had ended before. by is the rule that ends
// it, which fires afterwards, or nil.
func (k *conn) end(why error, by *shot) bool {
	c := k.c
	c.mu.Lock()
	if k.why != nil {
		c.mu.Unlock()
		return false
	}
	k.why = why
	close(k.done)
	delete(c.conns, k)
	for i := range k.pending.n {
		k.replyLost(k.pending.at(i))
		c.counts.underWay(k.pending.at(i).op, -1)
	}
	c.counts.Abandoned += int64(k.pending.clear())
	k.dropQueue()
	k.dropShots(by)
	k.lost(why)
	c.mu.Unlock()
	_ = k.Conn.Close() // it has ended in any case
	c.deliverEvents()
	if by != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		by.fire(nil)
		by.retire()
	}
	return true
}

// replyLost records a change whose reply will not reach the client. The caller holds c.mu.
func (k *conn) replyLost(s *sent) {
	k.c.noteLost(s)
	if s.op.Changes() {
		k.note(Event{Kind: ReplyLost, Session: k.session, Request: Request{Xid: s.xid, Op: s.op, Sent: s.at}})
	}
}

// dropShots retires the rules that matched on this connection, except but. The caller holds c.mu.
func (k *conn) dropShots(but *shot) {
	for _, s := range slices.Clone(k.c.shots) {
		if s.hit != k || s == but {
			continue
		}
		if s.timer != nil {
			s.timer.Stop()
		}
		s.fire(errEndedFirst)
		s.retire()
	}
}

// errEndedFirst is the error of a rule whose connection ended too early.
var errEndedFirst = errors.New("the connection ended first")
