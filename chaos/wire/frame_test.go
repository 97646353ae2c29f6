package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 4, 1, 2, 3, 4})
	f.Add(append([]byte{0, 0, 0, 16}, make([]byte, 16)...))
	f.Add(connectRequest(Session{ID: 7, Password: make([]byte, 16)}))
	f.Add(closeRequest())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		least := replyExtents[1].least
		body, err := readFrame(bytes.NewReader(in), least)
		if err != nil {
			return
		}
		if len(body) < least || len(body) > readLimit || len(body)+4 > len(in) {
			t.Fatalf("%d bytes in, a body of %d", len(in), len(body))
		}
	})
}

// What the package writes is what its scanner reads.
func TestScanner_readsTheRequestsThatTakeASessionOver(t *testing.T) {
	s := scanner{extents: &requestExtents}
	in := append(connectRequest(Session{ID: 7, Password: []byte("0123456789abcdef")}), closeRequest()...)
	var heads [][]byte
	for len(in) > 0 {
		n, m := s.next(in)
		if in = in[n:]; m&atHead != 0 {
			heads = append(heads, bytes.Clone(s.head))
		}
	}
	if len(heads) != 2 || int64At(heads[0], 16) != 7 || Op(int32At(heads[1], 4)) != CloseSession {
		t.Errorf("heads %x", heads)
	}
}

func TestScanner_findsFramesInAnyPieces(t *testing.T) {
	long := "/" + string(bytes.Repeat([]byte("x"), 3000))
	for _, tt := range []struct {
		name  string
		bytes []byte
		ops   []string // what the heads say, in order
		lost  bool
	}{
		{"a handshake alone has no opcode", hello(1), nil, false},
		{"requests follow the handshake", slices.Concat(hello(1), ask(1, Create, "/a"), ask(2, Delete, "/b")),
			[]string{"create /a", "delete /b"}, false},
		{"a request without a path has none", slices.Concat(hello(1), frame(be32(-2), be32(11))), []string{"ping "}, false},
		{"a long path is cut off", slices.Concat(hello(1), ask(1, Exists, long)), []string{"exists " + long[:pathLimit]}, false},
		{"a multi has the path of its first operation",
			slices.Concat(hello(1), frame(be32(1), be32(14), be32(1), []byte{0}, be32(-1), text("/m"), be32(0))),
			[]string{"multi /m"}, false},
		{"a path that claims more than the frame has is what there is",
			slices.Concat(hello(1), frame(be32(1), be32(3), be32(99), []byte("/ab"))), []string{"exists /ab"}, false},
		{"a path with a negative length is none", slices.Concat(hello(1), frame(be32(1), be32(3), be32(-1))), []string{"exists "}, false},
		{"a four-letter word is no frame", []byte("ruok"), nil, true},
		{"a negative length is no frame", slices.Concat(hello(1), be32(-5)), nil, true},
		{"an absurd length is no frame", slices.Concat(hello(1), be32(frameLimit+1)), nil, true},
		{"a frame too short for a header is none", slices.Concat(hello(1), be32(7)), nil, true},
		{"a handshake too short to be one is none", ask(1, Ping, ""), nil, true},
		{"half a frame is not lost, only unfinished", hello(1)[:20], nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, step := range []int{1, 3, 7, 1 << 20} {
				s := scanner{extents: &requestExtents}
				var ops []string
				first := true
				for piece := range slices.Chunk(tt.bytes, step) {
					for len(piece) > 0 {
						n, m := s.next(piece)
						piece = piece[n:]
						if m&atHead != 0 && !first {
							op := Op(int32At(s.head, 4))
							ops = append(ops, op.String()+" "+string(pathIn(s.head, op)))
						}
						first = first && m&atHead == 0
					}
				}
				if !slices.Equal(ops, tt.ops) || s.unparsable != tt.lost {
					t.Errorf("in pieces of %d: %q, lost %v", step, ops, s.unparsable)
				}
			}
		})
	}
}

// outcome is all that parsing may depend on.
type outcome struct {
	counts  Counts
	session string
	bytes   string
}

// never is a rule that is in force and hits nothing, so that every byte takes
// the long way.
var never = Rule{Act: DropRequest, Nth: 1 << 60}

// writeAll sends data through a connection in pieces of the sizes in cuts.
func writeAll(t testing.TB, data, cuts []byte, armed bool) outcome {
	b := newBench(t)
	defer b.tap.Close()
	var rule *armedRule
	if armed {
		rule = b.arm(never)
	}
	for len(data) > 0 {
		n := len(data)
		if len(cuts) > 0 {
			n, cuts = min(n, 1+int(cuts[0])), cuts[1:]
		}
		b.write(data[:n])
		data = data[n:]
	}
	if armed {
		rule.Disarm()
		b.write(nil) // takes along what waited for its frame's head
	}
	return outcome{counts: b.c.Counts(), bytes: string(b.far.sent())}
}

// readAll receives data through a connection in pieces of the sizes in cuts.
func readAll(t testing.TB, data, cuts []byte, armed bool) outcome {
	b := newBench(t)
	defer b.tap.Close()
	b.write(hello(9))
	for xid := range 8 {
		b.write(ask(xid, Op(xid), "/"))
	}
	if armed {
		b.arm(never)
	}
	b.far.cuts = cuts
	b.far.feed(data)
	got, err := io.ReadAll(b.conn)
	expired := b.c.Session().Expired
	if err != nil && !expired {
		t.Fatal(err)
	}
	if expired {
		return outcome{bytes: "expired"} // the connection ended behind the handshake
	}
	s := b.c.Session()
	return outcome{counts: b.c.Counts(), bytes: string(got), session: string(s.Password) + s.Timeout.String()}
}

func same(t testing.TB, what string, a, b outcome) {
	t.Helper()
	if a != b {
		t.Fatalf("%s: parsing differs:\n%v %q\n%v %q", what, a.counts.Map(), a.session, b.counts.Map(), b.session)
	}
}

func FuzzRequests(f *testing.F) {
	f.Add(slices.Concat(hello(0), ask(1, Create, "/a"), frame(be32(-2), be32(11)), ask(2, Multi, "/b")), []byte{0, 3, 9})
	f.Add([]byte("srvr\n"), []byte{1})
	f.Add(slices.Concat(hello(0), be32(1<<30), []byte("abc")), []byte{20, 5})
	f.Add(recording(f).client, []byte{3, 1, 200})
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		whole := writeAll(t, data, nil, false)
		if whole.bytes != string(data) {
			t.Fatal("bytes were altered")
		}
		same(t, "in pieces", whole, writeAll(t, data, cuts, false))
		same(t, "with a rule in force", whole, writeAll(t, data, nil, true))
		same(t, "in pieces, with a rule in force", whole, writeAll(t, data, cuts, true))
	})
}

func FuzzReplies(f *testing.F) {
	f.Add(slices.Concat(welcome(1, 1e9), answer(0, 7, 0, "x"), event(2, "/a"), answer(3, 8, -101, "")), []byte{0, 3, 9})
	f.Add([]byte("imok"), []byte{1})
	f.Add(slices.Concat(welcome(0, 0), answer(1, 1, 0, "")), []byte{39})
	f.Add(recording(f).server, []byte{3, 1, 200})
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		whole := readAll(t, data, nil, false)
		if whole.bytes != string(data) && whole.bytes != "expired" {
			t.Fatal("bytes were altered")
		}
		same(t, "in pieces", whole, readAll(t, data, cuts, false))
		same(t, "with a rule in force", whole, readAll(t, data, nil, true))
		same(t, "in pieces, with a rule in force", whole, readAll(t, data, cuts, true))
	})
}

// Whatever is cut into whatever pieces, with rules coming and going: the
// client gets all frames but those that were swallowed, whole and in order.
func TestShot_swallowsRepliesAndLeavesTheRestWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		defer b.tap.Close()
		b.greet()
		var want, all []byte
		var shots []*armedRule
		for xid := range rapid.IntRange(1, 12).Draw(rt, "requests") {
			swallow := rapid.Bool().Draw(rt, "swallow")
			if swallow {
				shots = append(shots, b.arm(Rule{Op: GetData, Act: DropReply, Keep: true}))
			}
			b.write(ask(xid, GetData, "/x"))
			f := answer(xid, 1, 0, rapid.StringN(0, 90, -1).Draw(rt, "body"))
			if !swallow {
				want = append(want, f...)
			}
			all = append(all, f...)
			if rapid.Bool().Draw(rt, "event") {
				e := event(1, "/y")
				want, all = append(want, e...), append(all, e...)
			}
		}
		b.far.cuts = rapid.SliceOf(rapid.Byte()).Draw(rt, "pieces")
		b.far.feed(all)
		var got []byte
		for {
			buf := make([]byte, rapid.IntRange(1, 40).Draw(rt, "buffer"))
			n, err := b.conn.Read(buf)
			got = append(got, buf[:n]...)
			if err == io.EOF {
				break
			}
			b.check(err)
		}
		if !bytes.Equal(got, want) {
			rt.Fatalf("got %x\nwant %x", got, want)
		}
		for i, s := range shots {
			if p := <-s.Fired(); !p.Committed() {
				rt.Fatalf("shot %d: %v", i, p)
			}
		}
	})
}

func pair(t *testing.T) (*client, net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	start := time.Now()
	tap := New(func() time.Duration { return time.Since(start) })
	t.Cleanup(tap.Close)
	near, err := tap.client(0).Dial("tcp", l.Addr().String(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	return tap.client(0), near, far
}

func TestHold_stopsReadDeadlines(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hold  time.Duration
		due   time.Duration // from the start, set before the hold
		again time.Duration // from the start of the hold, set in it; 0: not
	}{
		{"a held client's clock stops", 500 * time.Millisecond, 100 * time.Millisecond, 0},
		{"a new deadline starts at the end of the hold", 500 * time.Millisecond, time.Hour, 100 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, near, far := pair(t)
			start := time.Now()
			_ = near.SetReadDeadline(start.Add(tt.due))
			if err := c.Hold(); err != nil {
				t.Fatal(err)
			}
			if _, err := far.Write([]byte{0}); err != nil { // the read must wait in the tap, not in the kernel
				t.Fatal(err)
			}
			type end struct {
				n   int
				err error
			}
			ended := make(chan end, 1)
			go func() {
				n, err := io.ReadFull(near, make([]byte, 2))
				ended <- end{n, err}
			}()
			if tt.again != 0 {
				_ = near.SetReadDeadline(start.Add(tt.again))
			}
			thaw := time.AfterFunc(tt.hold, c.EndHold)
			defer thaw.Stop()
			got := <-ended
			took := time.Since(start)
			if !errors.Is(got.err, os.ErrDeadlineExceeded) || took < 600*time.Millisecond || took > 5*time.Second {
				t.Errorf("the read ended after %v with %v, want a timeout after 600ms to 5s", took, got.err)
			}
			if got.n != 1 {
				t.Errorf("%d bytes were delivered", got.n)
			}
		})
	}
}

type deadlines struct {
	net.Conn
	due time.Time
	set int
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.due, d.set = t, d.set+1
	return nil
}

func TestReadClock_movesTheDeadlineByTheStop(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		name    string
		due     time.Time
		stopped time.Time
		setAt   time.Time
		want    time.Time
	}{
		{"a deadline from before moves by the whole stop", now.Add(time.Minute), now.Add(-10 * time.Second), time.Time{}, now.Add(70 * time.Second)},
		{"a deadline set meanwhile moves by the rest", now.Add(time.Minute), now.Add(-10 * time.Second), now.Add(-3 * time.Second), now.Add(63 * time.Second)},
		{"without a deadline there is none afterwards", time.Time{}, now.Add(-10 * time.Second), time.Time{}, time.Time{}},
	} {
		raw := &deadlines{}
		r := readClock{due: tt.due, stopped: tt.stopped, setAt: tt.setAt}
		r.start(raw)
		if off := raw.due.Sub(tt.want); raw.set != 1 || off < 0 || off > 2*time.Second || raw.due.IsZero() != tt.want.IsZero() {
			t.Errorf("%s: %v off", tt.name, off)
		}
		r.start(raw)
		if raw.set != 1 {
			t.Errorf("%s: a clock that runs was started again", tt.name)
		}
	}
}

func TestHold_stopsTheClockOfALaterConnection(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.check(b.c.Hold())
	b.redial()
	clock := &b.conn.(*conn).clock
	if clock.stopped.IsZero() {
		t.Error("its clock runs in the hold")
	}
	b.c.EndHold()
	if !clock.stopped.IsZero() {
		t.Error("its clock stands after the hold")
	}
}
