package wire

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// reading starts a read of n bytes and returns where its error comes out.
func (b *bench) reading(n int) <-chan error {
	done := make(chan error, 1)
	conn := b.conn
	go func() { _, err := io.ReadFull(conn, make([]byte, n)); done <- err }()
	return done
}

func TestConn_countsAbandonedRequests(t *testing.T) {
	b := newBench(t)
	b.greet()
	b.write(ask(1, Create, "/a"), ask(2, Create, "/b"), ask(-2, Ping, ""), ask(3, Delete, "/c"))
	b.read(answer(1, 1, 0, ""), answer(99, 1, 0, ""))
	if n := b.c.Unanswered(); n != 2 {
		t.Errorf("%d requests are unanswered, want 2: a ping is none", n)
	}
	b.read(answer(-2, 1, 0, ""))
	if n := b.c.Counts(); n.InFlight != 2 || n.Replies != 3 || n.Unmatched != 1 {
		t.Errorf("with two requests open: %v", n.Map())
	}
	b.check(b.conn.Close())
	if n := b.c.Counts(); n.InFlight != 0 || n.Abandoned != 2 {
		t.Errorf("after the close: %v", n.Map())
	}
	if err := b.conn.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a second close: %v", err)
	}
}

func TestConn_findsRepliesOutOfOrder(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.greet()
	b.write(ask(1, Create, "/a"), ask(-4, Auth, ""), ask(-2, Ping, ""), ask(2, Delete, "/b"))
	b.read(answer(-4, 0, 0, ""), answer(1, 5, 0, ""), answer(-2, 5, 0, ""), answer(2, 6, -101, ""))
	n := b.c.Counts()
	if n.InFlight != 0 || n.Unmatched != 0 || n.Errors.Of(Delete) != 1 || n.Errors.Total() != 1 {
		t.Errorf("counted %v", n.Map())
	}
}

func TestSession_lastAckSentIsASendTime(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.write(hello(0)) // at 1 s
	b.read(welcome(5, 4*time.Second))
	if got := b.c.Session().LastAckSent; got != 1*time.Second {
		t.Errorf("after the handshake: %v", got)
	}
	mark := b.ticks
	b.write(ask(1, Exists, "/"), ask(-2, Ping, "")) // one second apart
	if got := b.c.Session().LastAckSent; got != 1*time.Second {
		t.Errorf("sent, and not yet answered: %v", got)
	}
	b.read(answer(-2, 0, 0, ""))
	b.read(answer(1, 0, 0, "")) // was sent earlier: must not set the clock back
	s := b.c.Session()
	if want := mark + 2*time.Second; s.LastAckSent != want || s.Deadline() != want+4*time.Second {
		t.Errorf("after both answers: %v, want %v", s.LastAckSent, want)
	}
}

func TestConn_deliversAnExpiryWholeAndCloses(t *testing.T) {
	for _, held := range []bool{false, true} {
		b := newBench(t)
		b.greet()
		b.c.Cut()
		b.redial()
		b.write(hello(5))
		b.far.live = true
		if held {
			b.check(b.c.Hold())
		}
		sorry := welcome(0, 0)
		b.far.feed(sorry)
		done := b.reading(len(sorry))
		if held {
			b.c.EndHold()
		}
		b.check(<-done)
		Until(b.tb, "the connection is closed", b.far.isClosed)
		s := b.c.Session()
		if !s.Expired || s.ID != 5 || s.Server != "" {
			t.Errorf("held %v: session %+v", held, s)
		}
		last := b.events[len(b.events)-1]
		if last.Kind != Expired || last.Session != 5 || len(b.events) != 3 {
			t.Errorf("held %v: events %+v", held, b.events)
		}
		b.tap.Close()
	}
}

func TestConn_deliversAnExpiryByteByByte(t *testing.T) {
	b := newBench(t)
	b.arm(never)
	b.write(hello(5))
	sorry := welcome(0, 0)
	b.far.feed(sorry)
	for i := range sorry {
		if n, err := b.conn.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatalf("byte %d of %d: %v", i, len(sorry), err)
		}
	}
	if !b.far.isClosed() {
		t.Error("the connection is still there")
	}
}

func TestConn_thatIsOldSaysNothingAboutTheSession(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.greet()
	old, far := b.conn, b.far
	b.redial()
	b.write(hello(5))
	b.read(welcome(5, 4*time.Second))
	_, err := old.Write(ask(1, Exists, "/"))
	b.check(err)
	before := b.c.Session()
	reply := answer(1, 1, 0, "")
	far.feed(reply)
	_, err = io.ReadFull(old, make([]byte, len(reply)))
	b.check(err)
	b.check(old.Close())
	if after := b.c.Session(); after.LastAckSent != before.LastAckSent || after.Server == "" {
		t.Errorf("session %+v", after)
	}
	if len(b.events) != 2 || b.events[0].Resumed || !b.events[1].Resumed || b.events[1].Lost != 0 {
		t.Errorf("events: %+v", b.events)
	}
}

// A session that changes its connection while that is up was not away.
func TestConn_thatTakesOverWasNotAway(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.greet()
	b.check(b.conn.Close())
	for range 2 {
		b.redial()
		b.write(hello(5))
		b.read(welcome(5, 4*time.Second))
	}
	if len(b.events) != 4 || b.events[2].Lost == 0 || b.events[3].Lost != 0 {
		t.Errorf("events: %+v", b.events)
	}
}

func TestConn_endsOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(b *bench)
		why  error
	}{
		{"the server closes", func(b *bench) { _, _ = b.conn.Read(make([]byte, 9)) }, io.EOF},
		{"the client closes", func(b *bench) { _ = b.conn.Close() }, net.ErrClosed},
		{"the tap cuts", func(b *bench) { b.c.Cut() }, ErrCut},
		{"a write fails", func(b *bench) { _ = b.far.Close(); _, _ = b.conn.Write(ask(1, Exists, "/")) }, net.ErrClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.greet()
			tt.end(b)
			b.c.Cut()
			_ = b.conn.Close()
			if len(b.events) != 2 || b.events[1].Kind != Lost || !errors.Is(b.events[1].Err, tt.why) || b.events[1].Session != 5 {
				t.Errorf("events: %+v", b.events)
			}
			if !b.far.isClosed() || b.c.Session().Server != "" {
				t.Error("the connection is still there")
			}
		})
	}
}

func TestClient_Cut_unblocksARead(t *testing.T) {
	b := newBench(t)
	b.greet()
	b.far.live = true
	done := b.reading(4)
	if n := b.c.Cut(); n != 1 {
		t.Errorf("cut %d connections", n)
	}
	if err := <-done; !errors.Is(err, ErrCut) {
		t.Errorf("the reader got %v", err)
	}
	if _, err := b.conn.Write(ask(1, Exists, "/")); !errors.Is(err, ErrCut) {
		t.Errorf("the writer got %v", err)
	}
}

func TestTap_OnEvent_mayCallTheTap(t *testing.T) {
	b := newBench(t)
	var kinds []EventKind
	b.tap.OnEvent(func(e Event) {
		if e.Kind == Connected {
			b.c.Cut()
			_ = b.tap.Totals()
		}
		kinds = append(kinds, e.Kind) // so a nested call would come first
	})
	b.write(hello(0))
	b.far.feed(welcome(5, time.Second))
	_, _ = b.conn.Read(make([]byte, 100))
	if len(kinds) != 2 || kinds[0] != Connected || kinds[1] != Lost {
		t.Errorf("events: %v", kinds)
	}
}

func TestClient_Gate_refusesDials(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tap := New(func() time.Duration { return 0 })
	c := tap.Client(3)
	dial := func() error {
		conn, err := c.Dial("tcp", l.Addr().String(), time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	c.SetGateClosed(true)
	if err := dial(); !errors.Is(err, ErrGate) {
		t.Errorf("through a closed gate: %v", err)
	}
	c.SetGateClosed(false)
	if err := dial(); err != nil {
		t.Errorf("through an open gate: %v", err)
	}
	tap.Close()
	if err := dial(); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if err := func() error { _, err := tap.Client(4).Dial("tcp", l.Addr().String(), time.Second); return err }(); !errors.Is(err, ErrClosed) {
		t.Errorf("a new client after the end: %v", err)
	}
	if n := c.Counts(); n.Dials != 3 || n.Refused != 2 || n.Connections != 1 {
		t.Errorf("counted %v", n.Map())
	}
}

func TestClient_Gate_refusesADialUnderWay(t *testing.T) {
	b := newBench(t)
	b.c.SetGateClosed(true)
	far := &tape{}
	far.more.L = &far.mu
	if _, err := b.c.adopt(far, "far"); !errors.Is(err, ErrGate) || !far.isClosed() {
		t.Errorf("a connection that was made meanwhile: %v", err)
	}
}

func TestTap_sumsItsClients(t *testing.T) {
	tap := New(func() time.Duration { return 0 })
	for _, n := range []int{2, 0, 1, 2} {
		tap.client(n).count(func(c *Counts) { c.BytesIn += int64(n) })
	}
	all := tap.all()
	if len(all) != 3 || all[0].Number() != 0 || all[2].Number() != 2 {
		t.Errorf("%d clients", len(all))
	}
	if got := tap.Totals().BytesIn; got != 5 {
		t.Errorf("total %d, want 5", got)
	}
}

// lostReplies returns the numbers of the requests whose replies were lost.
func (b *bench) lostReplies() (xids []int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Kind == ReplyLost && e.Session == 5 {
			xids = append(xids, e.Request.Xid)
		}
	}
	return xids
}

func TestConn_namesTheRequestsWhoseRepliesAreLost(t *testing.T) {
	for _, row := range []struct {
		about string
		rule  *Rule
		want  []int32
	}{
		{"all that change something and are open at its end", nil, []int32{2, 3, 5}},
		{"one whose reply is swallowed, and what is behind it", &Rule{Op: Delete, Act: DropReply}, []int32{3, 5}},
		{"one whose reply is swallowed on a connection that stays, and what is open later", &Rule{Op: Delete, Act: DropReply, Keep: true}, []int32{3, 5}},
	} {
		t.Run(row.about, func(t *testing.T) {
			b := newBench(t)
			b.greet()
			if row.rule != nil {
				b.arm(*row.rule)
			}
			b.write(ask(1, Create, "/a"), ask(2, Create, "/b"), ask(3, Delete, "/c"), ask(4, Exists, "/d"))
			_, _ = b.conn.Write(ask(5, Multi, "")) // cut by one of the rules
			b.far.feed(answer(1, 1, 0, ""))
			if row.rule != nil && row.rule.Act == DropReply {
				b.far.feed(answer(2, 2, 0, ""), answer(3, 3, 0, ""), answer(4, 3, 0, ""))
			}
			buf := make([]byte, 1<<10)
			for {
				if _, err := b.conn.Read(buf); err != nil { // the tape ends
					break
				}
			}
			b.tap.Close()
			if got := b.lostReplies(); !slices.Equal(got, row.want) {
				t.Errorf("requests %v, want %v", got, row.want)
			}
		})
	}
}
