package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestHold_keepsBothWays(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.greet()
	b.far.live = true
	b.check(b.c.Hold())
	before := b.far.sent()
	one, two := ask(1, Create, "/a"), ask(2, Delete, "/b")
	b.write(one, two)
	if !bytes.Equal(b.far.sent(), before) {
		t.Error("held bytes reached the server")
	}
	if n := b.c.Counts(); n.Queued != int64(len(one)+len(two)) || n.InFlight != 2 {
		t.Errorf("in the hold: %v", n.Map())
	}
	reply := answer(1, 1, 0, "")
	done := b.reading(len(reply))
	b.far.feed(reply)
	Until(b.tb, "the reply is taken from the connection", func() bool {
		b.far.mu.Lock()
		defer b.far.mu.Unlock()
		return len(b.far.play) == 0
	})
	if n := b.c.Counts(); n.Replies != 0 {
		t.Error("a held reply was counted as delivered")
	}
	select {
	case err := <-done:
		t.Errorf("a held read returned %v", err)
	default:
	}
	b.c.EndHold()
	b.check(<-done)
	Until(b.tb, "the queue is written", func() bool { return b.c.Counts().Queued == 0 })
	three := ask(3, Exists, "/c")
	b.write(three)
	if want := slices.Concat(before, one, two, three); !bytes.Equal(b.far.sent(), want) {
		t.Errorf("the server got %x, want %x", b.far.sent(), want)
	}
	b.c.EndHold() // without a hold: nothing
}

func TestHold_deliversTheEndAfterwards(t *testing.T) {
	b := newBench(t)
	b.greet()
	b.check(b.c.Hold())
	reply := answer(-1, 0, 0, "")
	b.far.feed(reply, []byte{0, 0}) // and then half a length, and the end
	got := make(chan []byte, 1)
	go func() {
		all, _ := io.ReadAll(b.conn)
		got <- all
	}()
	b.c.EndHold()
	if all := <-got; !bytes.Equal(all, append(reply, 0, 0)) {
		t.Errorf("read %x", all)
	}
	if last := b.events[len(b.events)-1]; last.Kind != Lost || !errors.Is(last.Err, io.EOF) {
		t.Errorf("events: %+v", b.events)
	}
}

func TestHold_ignoresADeadlineThatPasses(t *testing.T) {
	b := newBench(t)
	b.greet()
	b.check(b.c.Hold())
	b.far.late = true
	done := b.reading(4)
	Until(b.tb, "the deadline has passed", func() bool {
		b.far.mu.Lock()
		defer b.far.mu.Unlock()
		return !b.far.late
	})
	time.Sleep(20 * time.Millisecond) // until the read has returned to the tap
	b.far.feed(be32(99))
	b.c.EndHold()
	if err := <-done; isTimeout(err) {
		t.Errorf("the read ended with %v", err)
	}
}

func TestHold_endsWithCloseAndCut(t *testing.T) {
	for _, cut := range []bool{false, true} {
		b := newBench(t)
		b.greet()
		b.far.live = true
		b.check(b.c.Hold())
		b.write(ask(1, Create, "/a"))
		done := b.reading(4)
		want := net.ErrClosed
		if cut {
			want = ErrCut
			b.c.Cut()
		} else {
			_ = b.conn.Close()
		}
		if err := <-done; !errors.Is(err, want) {
			t.Errorf("cut %v: the reader got %v", cut, err)
		}
		if n := b.c.Counts(); n.Queued != 0 || n.InFlight != 0 {
			t.Errorf("cut %v: left over: %v", cut, n.Map())
		}
		b.tap.Close()
	}
}

func TestHold_hasALimit(t *testing.T) {
	b := newBench(t)
	b.greet()
	b.check(b.c.Hold())
	big := frame(be32(1), be32(int(SetData)), make([]byte, queueLimit/2))
	b.write(big)
	_, err := b.conn.Write(big)
	if !errors.Is(err, ErrCut) || !b.far.isClosed() {
		t.Errorf("over the limit: %v", err)
	}
}

// pair is a tapped connection over TCP, whose far end says nothing.
// deadlines remembers the read deadline that it was given.
func TestHold_keepsDialsWaiting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tap := New(func() time.Duration { return 0 })
	defer tap.Close()
	c := tap.Client(0)
	if err := c.Hold(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.Dial("tcp", l.Addr().String(), time.Nanosecond)
		done <- err
	}()
	tap.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("a dial in a hold when the tap closes: %v", err)
	}
}

// Whatever is held, armed, released and thawed in between: the server gets the
// client's bytes, all of them, in order.
func TestHold_keepsTheOrderOfBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		defer b.tap.Close()
		var want []byte
		var shots []*armedRule
		var rest []byte // of the frame that is being written
		say := func(f []byte) { rest = append(rest, f...) }
		say(hello(0))
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				if len(rest) == 0 {
					say(ask(1, Create, "/"+rapid.StringMatching("[a-z]{0,9}").Draw(rt, "path")))
				}
				n := rapid.IntRange(1, len(rest)).Draw(rt, "bytes")
				b.write(rest[:n])
				want = append(want, rest[:n]...)
				rest = rest[n:]
			},
			"hold": func(*rapid.T) { _ = b.c.Hold() },
			"thaw": func(*rapid.T) { b.c.EndHold() },
			"arm": func(rt *rapid.T) {
				shots = append(shots, b.arm(Rule{Op: Create, Act: HoldRequest, Nth: rapid.IntRange(0, 3).Draw(rt, "nth")}))
			},
			"release": func(rt *rapid.T) {
				if len(shots) > 0 {
					rapid.SampledFrom(shots).Draw(rt, "shot").Release()
				}
			},
			"disarm": func(rt *rapid.T) {
				if len(shots) > 0 {
					rapid.SampledFrom(shots).Draw(rt, "shot").Disarm()
				}
			},
			"": func(rt *rapid.T) {
				if got := b.far.sent(); !bytes.HasPrefix(want, got) {
					rt.Fatalf("the server got %x, which is not the start of %x", got, want)
				}
			},
		})
		b.write(rest)
		want = append(want, rest...)
		for _, s := range shots {
			s.Disarm()
		}
		b.c.EndHold()
		b.write(nil)
		Until(b.tb, "all is written", func() bool { return len(b.far.sent()) == len(want) })
		if got := b.far.sent(); !bytes.Equal(got, want) {
			rt.Fatalf("the server got %x, want %x", got, want)
		}
	})
}

func TestClient_Record_hasWhatGoesByInOrder(t *testing.T) {
	b := newBench(t)
	b.greet()
	b.write(ask(1, Exists, "/before"))
	b.read(answer(1, 1, 0, ""))
	script := b.c.Record()
	b.write(ask(2, Create, "/a"), ask(3, Exists, "/b"))
	b.read(answer(2, 2, 0, ""), event(2, "/b"), answer(3, 3, -101, ""))
	type line struct {
		kind FrameKind
		op   Op
		path string
		code int32
	}
	var got []line
	for _, f := range script.Frames() {
		got = append(got, line{f.Kind, f.Op, f.Path, f.Code})
	}
	want := []line{{RequestFrame, Create, "/a", 0}, {RequestFrame, Exists, "/b", 0}, {ReplyFrame, Create, "", 0},
		{NotificationFrame, Notified, "/b", 0}, {ReplyFrame, Exists, "", -101}}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if _, err := io.ReadFull(b.conn, make([]byte, 1)); err == nil {
		t.Error("there was more")
	}
}
