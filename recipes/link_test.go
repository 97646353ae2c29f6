package recipes

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
)

// frame is body with its length before it.
func frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// replyTo is a reply frame with that xid, and a zxid that is ten times as high.
func replyTo(xid int, rest []byte) []byte {
	body := binary.BigEndian.AppendUint32(nil, uint32(xid))
	body = binary.BigEndian.AppendUint64(body, uint64(10*xid))
	return frame(append(body, rest...))
}

// arriving is a connection from which stream comes in chunks of that size.
type arriving struct {
	net.Conn
	stream []byte
	size   int
}

func (c *arriving) Read(b []byte) (int, error) {
	if len(c.stream) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.stream[:min(c.size, len(c.stream))])
	c.stream = c.stream[n:]
	return n, nil
}

func (c *arriving) Close() error { return nil }

// arrivingLink is a link after its handshake, with requests 1 to n under way.
func arrivingLink(t *testing.T, stream []byte, size, n int) *link {
	s := newSession(Options{})
	t.Cleanup(func() { s.end(errAbandoned) })
	l := newLink(&arriving{stream: stream, size: size}, s)
	l.handshakeDone = true
	for xid := range n {
		l.sent = append(l.sent, sentFrame{xid: int32(xid + 1), create: &sentCreate{}})
	}
	return l
}

// FuzzLink cuts a stream of replies into chunks at will: the link must pass on every
// byte, and hear every reply.
func FuzzLink(f *testing.F) {
	f.Add([]byte("a short one"), []byte{}, []byte("one that is longer than any head that anybody asks for, by far"), uint8(1))
	f.Add([]byte{0, 0, 0, 1}, []byte{1}, bytes.Repeat([]byte{7}, 300), uint8(7))
	f.Fuzz(func(t *testing.T, a, b, c []byte, step uint8) {
		if len(a)+len(b)+len(c) > 60<<10 {
			t.Skip("longer than MaxPacket")
		}
		const notification = -1
		stream := slices.Concat(replyTo(1, a), replyTo(notification, b), frame(nil), replyTo(2, c), replyTo(3, nil))
		l := arrivingLink(t, slices.Clone(stream), int(step%64)+1, 3)
		waiting := slices.Clone(l.sent)
		got, err := io.ReadAll(l)
		if err != nil || !bytes.Equal(got, stream) {
			t.Errorf("passed on %x, %v; want %x", got, err, stream)
		}
		if len(l.sent) != 0 {
			t.Errorf("%d requests are still waiting for their replies", len(l.sent))
		}
		for i, one := range waiting {
			if one.create.zxid != int64(10*(i+1)) {
				t.Errorf("request %d has zxid %d", i+1, one.create.zxid)
			}
		}
	})
}

func TestLink_refusesAReplyOutOfOrder(t *testing.T) {
	l := arrivingLink(t, replyTo(2, nil), 100, 2)
	if _, err := io.ReadAll(l); !errors.Is(err, errOutOfOrder) {
		t.Errorf("the reply to the second request came first: %v", err)
	}
}

// The server answers auth before the requests that it has queued.
func TestLink_acceptsTheReplyToAuthBeforeOthers(t *testing.T) {
	l := arrivingLink(t, slices.Concat(replyTo(2, nil), replyTo(1, nil)), 100, 2)
	l.sent[1].auth = true
	if _, err := io.ReadAll(l); err != nil || len(l.sent) != 0 {
		t.Errorf("the reply to auth came first: %v, %d requests wait", err, len(l.sent))
	}
}

func TestCreatePath_isTheRequests(t *testing.T) {
	request := func(op uint32, path string) []byte {
		b := binary.BigEndian.AppendUint32(nil, 9) // xid
		b = binary.BigEndian.AppendUint32(b, op)
		b = binary.BigEndian.AppendUint32(b, uint32(len(path)))
		return frame(append(append(b, path...), "and more"...))
	}
	for _, row := range []struct {
		about string
		b     []byte
		want  string
	}{
		{"a create has its path", request(opCreate, "/a/b-"), "/a/b-"},
		{"a delete is none", request(2, "/a/b-"), ""},
		{"a ping is too short", frame([]byte{255, 255, 255, 254, 0, 0, 0, 11}), ""},
		{"a path that claims more bytes than there are", request(opCreate, "/a/b-")[:16], ""},
		{"nothing", nil, ""},
	} {
		if got := createPath(row.b); string(got) != row.want {
			t.Errorf("%s: got %q, want %q", row.about, got, row.want)
		}
	}
}

func FuzzCreatePath(f *testing.F) {
	f.Add([]byte{0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		if path := createPath(b); len(path) > len(b) {
			t.Errorf("%d bytes of path in a request of %d", len(path), len(b))
		}
	})
}

// expire has the servers end a session. If an answer is late, the next one says that there is none.
func expire(t *testing.T, s wire.Session) {
	t.Helper()
	eventually(t, "the servers end the session", func() bool {
		err := s.CloseAt(t.Context(), servers[2])
		return err == nil || errors.Is(err, wire.ErrUnknownSession)
	})
}

func TestSession_isExpiredForGood(t *testing.T) {
	ctx := within(t, 20*time.Second)
	s, tap := tapped(t)
	g, id := acquire(t, NewLock(s, freshPath(), Predecessor).Acquire), s.ID()
	expire(t, tap.Session())
	<-s.done
	<-g.Lost()
	if err := s.Err(); !errors.Is(err, ErrSessionEnded) || !errors.Is(err, errExpired) {
		t.Errorf("the session says %v", err)
	}
	if _, err := s.List(ctx, "/"); !errors.Is(err, errExpired) || Indeterminate(err) {
		t.Errorf("a call after the end must be refused, and certainly not sent: %v", err)
	}
	if got := tap.Session().ID; got != id {
		t.Errorf("the client went on with another session, %#x after %#x", got, id)
	}
}

// go-zookeeper keeps requests that were not sent yet and sends them in the next
// session. Ours must not run in any other session than its own.
func TestSession_takesQueuedRequestsWithIt(t *testing.T) {
	ctx, path, other := within(t, 20*time.Second), freshPath(), open(t, nil)
	s, tap := tapped(t)
	tap.SetGateClosed(true)
	tap.Cut()
	eventually(t, "it is suspended", func() bool { state, _ := s.currentState(); return state == disconnected })
	created := begin(ctx, func(ctx context.Context) (string, error) { return s.Create(ctx, path, nil, 0) })
	expire(t, tap.Session())
	tap.SetGateClosed(false)
	if err := (<-created).err; !errors.Is(err, ErrSessionEnded) || !Indeterminate(err) {
		t.Errorf("the queued request returned %v", err)
	}
	must(t, other.barrier(ctx, path+"-barrier"))
	if stat, err := other.Exists(ctx, path); stat != nil || err != nil {
		t.Errorf("a request of the dead session has run: %+v, %v", stat, err)
	}
}

func TestSession_endsByItsOwnDeadline(t *testing.T) {
	tap := newTap(0)
	s := openWith(t, Options{Timeout: 2 * tick, Dial: tap.Dial})
	tap.SetGateClosed(true)
	tap.Cut()
	<-s.done
	now := time.Now()
	s.mu.Lock()
	deadline := s.expiry()
	s.mu.Unlock()
	if early := deadline.Sub(now); early > 0 {
		t.Errorf("ended %v before its deadline", early)
	}
	if !errors.Is(s.Err(), errDeadline) {
		t.Errorf("it says %v", s.Err())
	}
}

func TestSession_endsAtAnOversizedReply(t *testing.T) {
	ctx, other := within(t, 20*time.Second), open(t, nil)
	path, s := madePath(t, other), openWith(t, Options{Timeout: 4 * time.Second, MaxPacket: 1})
	for range 20 { // MaxPacket is at least 4 KiB
		_, err := other.Create(ctx, path+"/"+strings.Repeat("x", 240), nil, zk.FlagSequence)
		must(t, err)
	}
	if _, err := s.List(ctx, path); !errors.Is(err, ErrSessionEnded) || !strings.Contains(err.Error(), "exceeds MaxPacket (4096): raise MaxPacket") {
		t.Errorf("a list that is too long for the session returned %v", err)
	}
}

// The link takes a reply that is not the oldest's for the proof that one is lost.
// Pings must not be answered ahead of requests then, however busy the session is.
func TestSession_staysOnItsFirstConnectionWhenBusy(t *testing.T) {
	ctx, path := within(t, 20*time.Second), freshPath()
	taps := wire.New(clock())
	for i := range servers {
		tap := taps.Client(i)
		s, err := Open(ctx, inOrder(i), Options{Timeout: 2 * tick, Dial: tap.Dial})
		must(t, err)
		defer s.Close()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for tap.Counts().Requests.Of(wire.Ping) < 4 {
					_, err := s.Exists(ctx, path)
					if err = errors.Join(err, s.barrier(ctx, path)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if n := tap.Counts().Connections; n != 1 {
			t.Errorf("at member %d a busy session needed %d connections", i+1, n)
		}
	}
}
