package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestHold_keepsBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t)
		b.far.live = true
		b.check(b.c.Hold())
		before := b.far.sent()
		one, two, three := ask(1, Create, "/a"), ask(2, Delete, "/b"), ask(3, Exists, "/c")
		b.write(one, two)
		if !bytes.Equal(b.far.sent(), before) {
			t.Error("held bytes reached the server")
		}
		reply := answer(1, 1, 0, "")
		done := b.reading(len(reply))
		b.far.feed(reply)
		synctest.Wait()
		n := b.c.Counts()
		if n.Queued != int64(len(one)+len(two)) || n.InFlight != 2 || n.Replies != 0 || len(done) > 0 {
			t.Errorf("in the hold: %v, %d reads have returned", n.Map(), len(done))
		}
		b.c.EndHold()
		b.check(<-done)
		synctest.Wait()
		b.write(three)
		if want := slices.Concat(before, one, two, three); !bytes.Equal(b.far.sent(), want) {
			t.Errorf("the server got %x, want %x", b.far.sent(), want)
		}
		b.c.EndHold() // without a hold: nothing
	})
}

func TestHold_deliversTheEndAfterwards(t *testing.T) {
	b := openBench(t)
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
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t)
		b.check(b.c.Hold())
		b.far.late = true
		done := b.reading(4)
		synctest.Wait()
		b.far.feed(be32(99))
		b.c.EndHold()
		b.check(<-done)
	})
}

// While a client is held, its read deadlines do not come nearer.
func TestHold_stopsReadDeadlines(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		name       string
		later      bool          // the connection is made in the hold, which lasts from 1 s to 11 s
		due, reset time.Duration // the deadline, and a new one that is set at 4 s
		want       time.Duration // the end of the read
		err        error
	}{
		{"a deadline from before moves by the whole hold", false, 3 * s, 0, 13 * s, os.ErrDeadlineExceeded},
		{"a deadline set in the hold moves by the rest", false, 3600 * s, 5 * s, 12 * s, os.ErrDeadlineExceeded},
		{"the deadline of a later connection moves as well", true, 3 * s, 0, 13 * s, os.ErrDeadlineExceeded},
		{"without a deadline there is none afterwards", false, 0, 0, 60 * s, io.ErrUnexpectedEOF},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, start := newBench(t), time.Now()
				near, far := net.Pipe()
				time.AfterFunc(60*s, func() { far.Close() })
				setDeadline := func(due time.Duration) {
					if due > 0 {
						b.check(b.conn.SetReadDeadline(start.Add(due)))
					}
				}
				connect := func() { b.adopt(near); setDeadline(row.due) }
				if !row.later {
					connect()
				}
				time.Sleep(1 * s)
				b.check(b.c.Hold())
				if row.later {
					connect()
				}
				go far.Write([]byte{0}) // so that the read waits in the tap
				done := b.reading(2)
				time.Sleep(3 * s)
				setDeadline(row.reset)
				time.Sleep(7 * s)
				b.c.EndHold()
				if err, at := <-done, time.Since(start); !errors.Is(err, row.err) || at != row.want {
					t.Errorf("the read ended after %v with %v, want %v and %v", at, err, row.want, row.err)
				}
				if got := b.c.Counts().BytesIn; got != 1 {
					t.Errorf("%d bytes were delivered", got)
				}
			})
		})
	}
}

// A hold stops the deadline of a read that already waits for a rule to release its reply.
func TestHold_stopsTheDeadlineOfAKeptReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, start := newBench(t), time.Now()
		near, far := net.Pipe()
		defer far.Close()
		b.adopt(near)
		b.check(b.conn.SetReadDeadline(start.Add(3 * time.Second)))
		b.arm(Rule{Op: Notified, Act: HoldReply})
		go far.Write(slices.Concat(welcome(1, 0), event(2, "/a")))
		b.read(welcome(1, 0))
		done := b.reading(4)
		time.Sleep(time.Second)
		b.check(b.c.Hold())
		time.Sleep(10 * time.Second)
		b.c.EndHold()
		if err, at := <-done, time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || at != 13*time.Second {
			t.Errorf("the read ended after %v with %v, want 13s and %v", at, err, os.ErrDeadlineExceeded)
		}
	})
}

func TestConn_endsReadsAndWritesWithCloseAndCut(t *testing.T) {
	for _, held := range []bool{false, true} {
		for _, cut := range []bool{false, true} {
			b := openBench(t)
			b.far.live = true
			if held {
				b.check(b.c.Hold())
			}
			b.write(ask(1, Create, "/a"))
			done := b.reading(4)
			want := net.ErrClosed
			if cut {
				want = ErrCut
				if n := b.c.Cut(); n != 1 {
					t.Errorf("cut %d connections", n)
				}
			} else {
				b.check(b.conn.Close())
			}
			if err := <-done; !errors.Is(err, want) {
				t.Errorf("held %v, cut %v: the reader got %v", held, cut, err)
			}
			if _, err := b.conn.Write(ask(2, Exists, "/")); !errors.Is(err, want) {
				t.Errorf("held %v, cut %v: the writer got %v", held, cut, err)
			}
			if n := b.c.Counts(); n.Queued != 0 || n.InFlight != 0 {
				t.Errorf("held %v, cut %v: left over: %v", held, cut, n.Map())
			}
		}
	}
}

func TestHold_hasALimit(t *testing.T) {
	b := openBench(t)
	b.check(b.c.Hold())
	big := frame(be32(1), be32(int(SetData)), make([]byte, queueLimit/2))
	b.write(big)
	_, err := b.conn.Write(big)
	if !errors.Is(err, ErrCut) || !b.far.isClosed() {
		t.Errorf("over the limit: %v", err)
	}
}

func TestHold_keepsDialsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.check(b.c.Hold())
		var err error
		go func() { _, err = b.c.Dial("tcp", "127.0.0.1:1", time.Nanosecond) }()
		synctest.Wait()
		if err != nil {
			t.Errorf("in a hold: %v", err)
		}
		b.tap.Close()
		synctest.Wait()
		if !errors.Is(err, ErrClosed) {
			t.Errorf("a dial in a hold when the tap closes: %v", err)
		}
	})
}

// Whatever is held, armed, released and thawed in between: the server gets the
// client's bytes, all of them, in order.
func TestHold_keepsTheOrderOfBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
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
	b := openBench(t)
	b.write(ask(1, Exists, "/before"))
	b.read(answer(1, 1, 0, ""))
	script := b.c.Record()
	b.write(ask(2, Create, "/a"), ask(3, Exists, "/b"))
	b.read(answer(2, 2, 0, ""), event(2, "/b"), answer(3, 3, -101, ""))
	got := script.Frames()
	for i := range got {
		got[i].At = 0
	}
	want := []Frame{{Kind: RequestFrame, Op: Create, Path: "/a"}, {Kind: RequestFrame, Op: Exists, Path: "/b"},
		{Kind: ReplyFrame, Op: Create}, {Kind: NotificationFrame, Op: Notified, Path: "/b"},
		{Kind: ReplyFrame, Op: Exists, Code: -101}}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
