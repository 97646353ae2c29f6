package wire

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

type conn struct {
	net.Conn

	c     *client
	addr  string
	done  chan struct{}
	clock readClock

	wmu  sync.Mutex // one write at a time: the scanner needs the bytes in order
	out  filter
	rmu  sync.Mutex // one read at a time
	in   filter
	back backlog // under rmu

	endErr           error // why the connection ended; nil while it is open
	pending          inflight
	session          int64         // accepted by the server; 0: none yet
	connectSentAt    time.Duration // when the client sent the ConnectRequest
	connectSessionID int64         // the session in the ConnectRequest
	expired          bool
	expiryRead       bool       // expired, and the client has read the whole reply
	queue            []item     // bytes that cannot be written yet
	cutPending       bool       // a cut is pending: no more replies reach the client
	notificationRule *armedRule // HoldReply rule that keeps a notification
	cutRepliedRule   *armedRule // CutReplied rule that matched the frame being read
	refused          bool
	stat             bool // the frame being read ends with a Stat
}

func newConn(c *client, raw net.Conn, addr string) *conn {
	k := &conn{c: c, Conn: raw, addr: addr, done: make(chan struct{})}
	k.out.scan.extents = &requestExtents
	k.in.scan.extents = &replyExtents
	return k
}

func (k *conn) Write(p []byte) (int, error) {
	now := k.c.tap.now()
	k.wmu.Lock()
	defer k.wmu.Unlock()
	if !k.tryPassOut(p, now) {
		return k.writeSlow(p, now)
	}
	n, err := k.Conn.Write(p)
	if err != nil {
		err = k.endOnError(err)
	}
	return n, err
}

// tryPassOut counts bytes that pass unchanged to the server. It returns false if they must go through the filter.
func (k *conn) tryPassOut(p []byte, now time.Duration) bool {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isPassThrough() || len(k.queue) > 0 || k.out.busy() || k.endErr != nil {
		return false
	}
	c.counts.BytesOut += int64(len(p))
	for len(p) > 0 {
		n, m := k.out.scan.next(p)
		p = p[n:]
		k.request(m, now)
	}
	return true
}

// request counts a mark and returns the request whose head was complete, or nil. The caller holds c.mu.
func (k *conn) request(m mark, now time.Duration) *pendingRequest {
	n := &k.c.counts
	if m&gaveUp != 0 {
		n.ParseErrors++
	}
	if m&atHead == 0 {
		return nil
	}
	n.FramesOut++
	head := k.out.scan.head
	if !k.out.opened {
		k.out.opened = true
		k.connectSentAt, k.connectSessionID = now, int64At(head, 16)
		return nil
	}
	s := pendingRequest{xid: int32At(head, 0), op: Op(int32At(head, 4)), at: now}
	k.c.noteNode(&s, head)
	if m := &k.c.moments; m.Asked == 0 && s.op != Ping {
		m.Asked = now
	}
	n.Requests[s.op.slot()]++
	n.addInFlight(s.op, 1)
	k.pending = append(k.pending, s)
	if k.c.transcript != nil {
		k.c.transcript.add(Frame{At: now, Kind: RequestFrame, Op: s.op, Path: string(pathIn(head, s.op))})
	}
	return &k.pending[len(k.pending)-1]
}

func (k *conn) Read(b []byte) (int, error) {
	k.rmu.Lock()
	defer k.rmu.Unlock()
	if k.back.waiting() || k.in.busy() {
		return k.readSlow(b)
	}
	n, err := k.Conn.Read(b)
	ok, todo := k.tryPassIn(b[:n])
	if !ok {
		if err = k.keep(b[:n], err); err != nil {
			return 0, err
		}
		return k.readSlow(b)
	}
	if err != nil {
		err = k.endOnError(err)
	}
	if todo {
		k.afterRead(true)
	}
	return n, err
}

// tryPassIn is tryPassOut for bytes to the client; todo requests a call of afterRead.
func (k *conn) tryPassIn(p []byte) (ok, todo bool) {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isPassThrough() || k.cutPending || k.endErr != nil {
		return false, false
	}
	c.counts.BytesIn += int64(len(p))
	for len(p) > 0 {
		n, m := k.in.scan.next(p)
		p = p[n:]
		if m&atHead != 0 {
			k.countReply()
		}
		k.reply(m)
	}
	return true, k.expiryRead || len(c.events) > 0
}

// reply counts a mark of the scanner of replies. The caller holds c.mu.
func (k *conn) reply(m mark) {
	if m&gaveUp != 0 {
		k.c.counts.ParseErrors++
	}
	if m&atEnd == 0 {
		return
	}
	if k.stat {
		k.c.known.Zxid = max(k.c.known.Zxid, int64At(k.in.scan.tail[:], 0)) // pzxid ends a Stat
		k.stat = false
	}
	k.expiryRead = k.expired
	if k.cutRepliedRule != nil {
		k.back.cut, k.cutRepliedRule = k.cutRepliedRule, nil
	}
}

// countReply counts a frame that goes to the client, once its head is complete. The caller holds c.mu.
func (k *conn) countReply() {
	n, head := &k.c.counts, k.in.scan.head
	n.FramesIn++
	if !k.in.opened {
		k.in.opened = true
		k.handshake(head)
		return
	}
	xid := int32At(head, 0)
	if xid == notification {
		n.Notifications.add(head)
		now := k.c.tap.now()
		k.c.moments.Notified, k.c.moments.Asked = now, 0
		if k.c.transcript != nil {
			k.c.transcript.add(Frame{At: now, Kind: NotificationFrame, Op: Notified, Path: string(notifiedPath(head))})
		}
		known := &k.c.known
		known.Notified, known.Zxid = true, max(known.Zxid, int64At(head, 4))
		if path, removed := removedPath(head); removed {
			known.Removed, known.RemovedAt = path, now
		} else if int64At(head, 4) <= 0 && len(head) >= 20 && int32At(head, 16) == childrenChanged {
			known.ChangedAt = now
		}
		return
	}
	n.Replies++
	k.c.known.Notified = false
	k.c.known.Zxid = max(k.c.known.Zxid, int64At(head, 4))
	i := k.pending.find(xid)
	if i < 0 {
		n.Unmatched++
		return
	}
	s := k.pending[i]
	k.pending.remove(i)
	n.addInFlight(s.op, -1)
	if int32At(head, 12) != 0 {
		n.Errors[s.op.slot()]++
	} else {
		k.stat = s.op.hasStat() && k.in.scan.body >= 16+statLength
		k.c.noteReply(&s, head)
	}
	if s.op != Ping {
		m := &k.c.moments
		if m.Answered = k.c.tap.now(); s.op.Changes() {
			m.Changed, m.Applied = s.at, m.Answered
		}
	}
	if k.c.transcript != nil {
		k.c.transcript.add(Frame{At: k.c.tap.now(), Kind: ReplyFrame, Op: s.op, Code: int32At(head, 12)})
	}
	k.recordAcknowledged(s)
}

const (
	notification    = -1 // the xid of a watch event
	nodeDeleted     = 2  // types of events
	childrenChanged = 4

	statLength = 68
)

// notifiedPath returns the path of a notification, truncated if it is long.
func notifiedPath(head []byte) []byte { return bytesAt(head, 24) }

// removedPath returns the path of a deleted node's notification. ok is false if the path is longer than a head.
func removedPath(head []byte) (path string, ok bool) {
	if len(head) < 28 || int32At(head, 16) != nodeDeleted {
		return "", false
	}
	return wholePath(head, 24)
}

func (n *Notifications) add(head []byte) {
	types := [...]*int64{&n.Other, &n.Created, &n.Deleted, &n.Changed, &n.Child}
	t := int32(0)
	if len(head) >= 20 {
		t = int32At(head, 16)
	}
	if t < 0 || int(t) >= len(types) {
		t = 0
	}
	*types[t]++
}

// afterRead runs outside c.mu: it delivers events, and once the client has read everything, closes a
// connection whose session has expired, which go-zookeeper leaks.
func (k *conn) afterRead(delivered bool) {
	k.c.mu.Lock()
	over := k.expiryRead && delivered
	k.c.mu.Unlock()
	if over {
		k.end(net.ErrClosed, nil)
	}
	k.c.deliverEvents()
}

func (k *conn) Close() error {
	if !k.end(net.ErrClosed, nil) {
		return net.ErrClosed
	}
	return nil
}

func (k *conn) SetDeadline(t time.Time) error {
	return errors.Join(k.SetWriteDeadline(t), k.SetReadDeadline(t))
}

func (k *conn) SetReadDeadline(t time.Time) error { return k.clock.set(k.Conn, t) }

func (k *conn) endOnError(err error) error {
	if isTimeout(err) {
		return err
	}
	k.end(err, nil)
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	if errors.Is(k.endErr, ErrCut) {
		return k.endErr // rather than the error of the closed raw connection
	}
	return err
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

// end ends the connection once; it returns false if it had ended before. by is the rule that ends
// the connection, which fires afterwards, or nil.
func (k *conn) end(why error, by *armedRule) bool {
	c := k.c
	c.mu.Lock()
	if k.endErr != nil {
		c.mu.Unlock()
		return false
	}
	k.endErr = why
	close(k.done)
	delete(c.conns, k)
	for i := range k.pending {
		k.replyLost(&k.pending[i])
	}
	k.pending = nil
	k.dropQueue()
	k.retireMatched(by)
	k.recordLost(why)
	c.mu.Unlock()
	_ = k.Conn.Close() // on an error the connection has ended all the same
	c.deliverEvents()
	if by != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		by.fire(nil)
		by.retire()
	}
	return true
}

// replyLost records a request whose reply will not reach the client. The caller holds c.mu.
func (k *conn) replyLost(s *pendingRequest) {
	k.c.counts.addInFlight(s.op, -1)
	k.c.counts.Abandoned++
	k.c.noteLost(s)
	if s.op.Changes() {
		k.queueEvent(Event{Kind: ReplyLost, Session: k.session, Request: Request{Xid: s.xid, Op: s.op, Sent: s.at}})
	}
}

// retireMatched retires the rules that matched on this connection, except but. The caller holds c.mu.
func (k *conn) retireMatched(but *armedRule) {
	for _, s := range slices.Clone(k.c.armedRules) {
		if s.matchedConn == k && s != but {
			s.fire(errEndedFirst)
			s.retire()
		}
	}
}

var errEndedFirst = errors.New("the connection ended first")
