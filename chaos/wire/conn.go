package wire

import (
	"errors"
	"net"
	"sync"
	"time"
)

// conn is one tapped connection. Bytes pass through it unchanged, and it reads along.
// While a rule is in force, or the client is held, they take the slow way through
// filters and queues (read.go, write.go).
type conn struct {
	net.Conn // to the server; LocalAddr, RemoteAddr and SetWriteDeadline are its. In a hold writes do not wait.

	c     *client
	addr  string
	done  chan struct{} // closed at its end
	clock readClock

	wmu  sync.Mutex // one write at a time: the scanner must see the bytes in their order
	out  filter
	rmu  sync.Mutex // one read at a time
	in   filter
	back backlog // under rmu

	// Under c.mu.
	why      error // why it ended; nil while it is up
	pending  inflight
	session  int64         // that the server accepted; 0: none yet
	helloAt  time.Duration // when the client sent the ConnectRequest
	helloFor int64         // the session in the ConnectRequest
	expired  bool          // the server answered that this session is gone
	over     bool          // expired, and the client has read all of that answer
	queue    []item        // what is to be written and cannot be yet
	mute     bool          // a cut is certain: no more replies reach the client
	kept     *shot         // HoldReply, which keeps a notification
	parting  *shot         // CutReplied, which has hit the frame that is being read
	cutting  *shot         // CutAfter, which has hit the request that is being written
	refused  bool          // CutBefore has hit: the client's write fails
}

func newConn(c *client, raw net.Conn, addr string) *conn {
	k := &conn{c: c, Conn: raw, addr: addr, done: make(chan struct{})}
	k.out.scan.extents = &requestExtents
	k.in.scan.extents = &replyExtents
	return k
}

// Write sends a client's bytes to the server.
func (k *conn) Write(p []byte) (int, error) {
	now := k.c.tap.now()
	k.wmu.Lock()
	defer k.wmu.Unlock()
	if !k.watchOut(p, now) {
		return k.writeSlow(p, now)
	}
	n, err := k.Conn.Write(p)
	if err != nil {
		err = k.failed(err)
	}
	return n, err
}

// watchOut counts bytes that pass unchanged to the server. It returns false, and has
// done nothing, where they have to take the slow way.
func (k *conn) watchOut(p []byte, now time.Duration) bool {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.plain() || len(k.queue) > 0 || k.cutting != nil || k.out.busy() || k.why != nil {
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

// request counts what the scanner of requests came to. It returns the request whose
// head that was, or nil. The caller holds c.mu.
func (k *conn) request(m mark, now time.Duration) *sent {
	n := &k.c.counts
	if m&gaveUp != 0 {
		n.ParseErrors++
	}
	if m&atHead == 0 {
		return nil
	}
	n.FramesOut++
	head := k.out.scan.head()
	if !k.out.opened {
		k.out.opened = true
		k.helloAt, k.helloFor = now, int64At(head, 16)
		return nil
	}
	s := sent{xid: int32At(head, 0), op: Op(int32At(head, 4)), at: now}
	k.c.noteNode(&s, head)
	n.Requests[s.op.slot()]++
	n.underWay(s.op, 1)
	k.pending.push(s)
	if k.c.script != nil {
		k.c.script.add(Frame{At: now, Kind: RequestFrame, Op: s.op, Path: string(pathIn(head, s.op))})
	}
	return k.pending.last()
}

// Read delivers bytes from the server.
func (k *conn) Read(b []byte) (int, error) {
	k.rmu.Lock()
	defer k.rmu.Unlock()
	if k.back.waiting() || k.in.busy() {
		return k.readSlow(b)
	}
	n, err := k.Conn.Read(b)
	ok, todo := k.watchIn(b[:n])
	if !ok {
		if err = k.keep(b[:n], err); err != nil {
			return 0, err
		}
		return k.readSlow(b)
	}
	if err != nil {
		err = k.failed(err)
	}
	if todo {
		k.afterRead(true)
	}
	return n, err
}

// watchIn counts bytes that pass unchanged to the client. ok is false, and nothing is
// done, where they have to take the slow way; todo asks for afterRead.
func (k *conn) watchIn(p []byte) (ok, todo bool) {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.plain() || k.mute || k.why != nil {
		return false, false
	}
	c.counts.BytesIn += int64(len(p))
	for len(p) > 0 {
		n, m := k.in.scan.next(p)
		p = p[n:]
		if m&atHead != 0 {
			k.deliver()
		}
		k.reply(m)
	}
	return true, k.over || len(c.events) > 0
}

// reply counts what the scanner of replies came to. The caller holds c.mu.
func (k *conn) reply(m mark) {
	if m&gaveUp != 0 {
		k.c.counts.ParseErrors++
	}
	if m&atEnd == 0 {
		return
	}
	k.over = k.expired
	if k.parting != nil {
		k.back.cut, k.parting = k.parting, nil
	}
}

// deliver counts a frame whose head has come, and that goes to the client. The caller
// holds c.mu.
func (k *conn) deliver() {
	n, head := &k.c.counts, k.in.scan.head()
	n.FramesIn++
	if !k.in.opened {
		k.in.opened = true
		k.handshake(head)
		return
	}
	xid := int32At(head, 0)
	if xid == notification {
		n.Notifications.add(head)
		k.c.notified = k.c.tap.now()
		if k.c.script != nil {
			k.c.script.add(Frame{At: k.c.notified, Kind: NotificationFrame, Op: Notified, Path: string(notifiedPath(head))})
		}
		if path, removed := removedPath(head); removed {
			k.c.known.Removed, k.c.known.RemovedAt = path, k.c.notified
		}
		return
	}
	n.Replies++
	k.c.known.Zxid = max(k.c.known.Zxid, int64At(head, 4))
	i, ok := k.pending.find(xid)
	if !ok {
		n.Unmatched++
		return
	}
	s := k.pending.remove(i)
	n.underWay(s.op, -1)
	if int32At(head, 12) != 0 {
		n.Errors[s.op.slot()]++
	} else {
		k.c.noteReply(&s, head)
	}
	if k.c.script != nil {
		k.c.script.add(Frame{At: k.c.tap.now(), Kind: ReplyFrame, Op: s.op, Code: int32At(head, 12)})
	}
	k.acknowledged(s)
}

// notification is the xid of a watch event.
const notification = -1

// notifiedPath is the path of a notification; a long one is cut off.
func notifiedPath(head []byte) []byte { return bytesAt(head, 24) }

// removedPath returns the path of a notification that a node is gone. One that is longer
// than the head has room for is left out.
func removedPath(head []byte) (path string, ok bool) {
	if len(head) < 28 || int32At(head, 16) != 2 {
		return "", false
	}
	found := notifiedPath(head)
	return string(found), len(found) == int(int32At(head, 24))
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

// afterRead does what must wait until c.mu is free. It delivers events. Once the client
// has everything, it closes a connection whose session has expired, which go-zookeeper
// leaks.
func (k *conn) afterRead(delivered bool) {
	c := k.c
	c.mu.Lock()
	over := k.over && delivered
	c.mu.Unlock()
	if over {
		k.end(net.ErrClosed, nil)
	}
	c.deliverEvents()
}

// Close ends the connection for the client.
func (k *conn) Close() error {
	if !k.end(net.ErrClosed, nil) {
		return net.ErrClosed
	}
	return nil
}

// SetDeadline sets both deadlines.
func (k *conn) SetDeadline(t time.Time) error {
	return errors.Join(k.SetWriteDeadline(t), k.SetReadDeadline(t))
}

// SetReadDeadline sets the time at which reads give up.
func (k *conn) SetReadDeadline(t time.Time) error { return k.clock.set(k.Conn, t) }
