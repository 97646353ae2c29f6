package wire

import (
	"bytes"
	"io"
	"slices"
	"testing"

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
		{"the requests that take a session over", append(connectRequest(Session{ID: 7}), closeRequest()...),
			[]string{"closeSession "}, false},
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
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		whole := writeAll(t, data, nil, false)
		if whole.bytes != string(data) || whole.counts.BytesOut != int64(len(data)) {
			t.Fatal("bytes were altered, or not counted")
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
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		whole := readAll(t, data, nil, false)
		if whole.bytes != "expired" && (whole.bytes != string(data) || whole.counts.BytesIn != int64(len(data))) {
			t.Fatal("bytes were altered, or not counted")
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
		b := openBench(t)
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
