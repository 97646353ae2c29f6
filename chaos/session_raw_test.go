package chaos

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
)

// ensemble starts real members that go down with the test.
func ensemble(t testing.TB, o ensembles.Options) *ensembles.Ensemble {
	t.Helper()
	e, err := process.Start(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, e.Down(context.Background())) })
	return e
}

// openSession makes a session of its own over a raw connection.
func openSession(t testing.TB, addr string) (credentials, net.Conn) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = conn.Write(connectFrame(credentials{timeout: 10 * time.Second, password: make([]byte, 16)}))
	must(t, err)
	b, err := readFrame(conn)
	must(t, err)
	id, err := parseConnectReply(b)
	must(t, err)
	return credentials{
		id:       id,
		timeout:  time.Duration(binary.BigEndian.Uint32(b[4:])) * time.Millisecond,
		password: bytes.Clone(b[20:36]),
	}, conn
}

func TestSessionRaw(t *testing.T) {
	e := shared(t).Ensemble
	ctx := t.Context()
	for _, m := range e.Members {
		t.Run("closed over "+m.Name+", it is unknown to all members", func(t *testing.T) {
			c, victim := openSession(t, e.Members[0].Addr)
			begin := time.Now()
			must(t, closeSession(ctx, m.Addr, c))
			t.Logf("closed in %v", time.Since(begin))
			for _, asked := range e.Members {
				// A follower that has not applied the close yet may just hang up.
				err := poll(ctx, 5*time.Second, func(ctx context.Context) error {
					lives, err := known(ctx, asked.Addr, c)
					if lives {
						t.Errorf("%s still knows it", asked.Name)
					}
					return err
				})
				if err != nil {
					t.Errorf("%s: %v", asked.Name, err)
				}
			}
			victim.SetReadDeadline(time.Now().Add(2 * time.Second))
			var timeout net.Error
			if _, err := readFrame(victim); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("the victim's connection lives: %v", err)
			}
			if err := closeSession(ctx, m.Addr, c); !errors.Is(err, errNotKnown) {
				t.Errorf("closing it again: %v", err)
			}
		})
	}
	t.Run("a session that lives is known to another member", func(t *testing.T) {
		c, _ := openSession(t, e.Members[0].Addr)
		if lives, err := known(ctx, e.Members[1].Addr, c); err != nil || !lives {
			t.Errorf("lives %v, %v", lives, err)
		}
	})
	t.Run("a wrong password closes nobody's session", func(t *testing.T) {
		c, _ := openSession(t, e.Members[0].Addr)
		wrong := c
		wrong.password = make([]byte, 16)
		if err := closeSession(ctx, e.Members[1].Addr, wrong); !errors.Is(err, errNotKnown) {
			t.Errorf("got %v", err)
		}
		if lives, err := known(ctx, e.Members[1].Addr, c); err != nil || !lives {
			t.Errorf("lives %v, %v", lives, err)
		}
	})
}

func TestSessionRaw_GivesUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := closeSession(ctx, silent.Addr().String(), credentials{id: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a member that never answers: %v", err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %v", took)
	}
	if _, err := known(t.Context(), "127.0.0.1:1", credentials{id: 1}); err == nil {
		t.Error("nobody listens, and it answered")
	}
}

func FuzzRawReplies(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 4, 1, 2, 3, 4})
	f.Add(connectFrame(credentials{id: 7, password: make([]byte, 16)}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		b, err := readFrame(bytes.NewReader(in))
		if err != nil {
			return
		}
		if len(b) > maxRawFrame || len(b)+4 > len(in) {
			t.Fatalf("%d bytes in, a frame of %d", len(in), len(b))
		}
		parseConnectReply(b)
		parseReply(b)
	})
}

func BenchmarkCloseSession(b *testing.B) {
	e := ensemble(b, ensembles.Options{})
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		c, conn := openSession(b, e.Members[i%3].Addr)
		b.StartTimer()
		must(b, closeSession(b.Context(), e.Members[i%3].Addr, c))
		b.StopTimer()
		conn.Close()
		b.StartTimer()
	}
}
