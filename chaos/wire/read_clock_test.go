package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

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

func TestHold_stallsOrStopsReadDeadlines(t *testing.T) {
	for _, tt := range []struct {
		name  string
		mode  HoldMode
		hold  time.Duration
		due   time.Duration // from the start, set before the hold
		again time.Duration // from the start of the hold, set in it; 0: not
		least time.Duration // when the read times out, at the earliest
		most  time.Duration
	}{
		{"a stall lets the deadline fire in time", Stall, 20 * time.Second, 100 * time.Millisecond, 0, 100 * time.Millisecond, 10 * time.Second},
		{"a stall follows a deadline that moves", Stall, 20 * time.Second, time.Hour, 100 * time.Millisecond, 100 * time.Millisecond, 10 * time.Second},
		{"a deaf client's clock stands still", Deaf, 500 * time.Millisecond, 100 * time.Millisecond, 0, 600 * time.Millisecond, 5 * time.Second},
		{"a deaf client's new deadline counts from the end of the hold", Deaf, 500 * time.Millisecond, time.Hour, 100 * time.Millisecond, 600 * time.Millisecond, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, near, far := pair(t)
			start := time.Now()
			_ = near.SetReadDeadline(start.Add(tt.due))
			if err := c.Hold(tt.mode); err != nil {
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
				clock := &near.(*conn).clock
				Until(t, "the read waits in the tap", func() bool {
					clock.mu.Lock()
					defer clock.mu.Unlock()
					return clock.changed != nil
				})
				_ = near.SetReadDeadline(start.Add(tt.again))
			}
			thaw := time.AfterFunc(tt.hold, c.Thaw)
			defer thaw.Stop()
			got := <-ended
			took := time.Since(start)
			if !errors.Is(got.err, os.ErrDeadlineExceeded) || took < tt.least || took > tt.most {
				t.Errorf("the read ended after %v with %v, want a timeout after %v to %v", took, got.err, tt.least, tt.most)
			}
			if delivered := got.n == 1; delivered != (tt.mode == Deaf) {
				t.Errorf("%d bytes were delivered", got.n)
			}
			// What a stall kept is not gone.
			if tt.mode == Stall {
				c.Thaw()
				_ = near.SetReadDeadline(time.Now().Add(5 * time.Second))
				if n, err := near.Read(make([]byte, 2)); n != 1 || err != nil {
					t.Errorf("after the stall: %d bytes, %v", n, err)
				}
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
	b.check(b.c.Hold(Deaf))
	b.redial()
	clock := &b.conn.(*conn).clock
	if clock.stopped.IsZero() {
		t.Error("its clock runs in the hold")
	}
	b.c.Thaw()
	if !clock.stopped.IsZero() {
		t.Error("its clock stands after the hold")
	}
}
