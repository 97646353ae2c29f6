package scenarios

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zkbench/zkbench/recipes"
)

func TestShiftNumbers(t *testing.T) {
	for _, row := range []struct{ name, real, shown string }{
		{"a number becomes negative and keeps its length", "/l/n-0000000007", "/l/n--000099993"},
		{"behind an underscore as well", "/l/_c_0123-lock_0000000000", "/l/_c_0123-lock_-000100000"},
		{"each of several", "a-0000000001b-0000000002", "a--000099999b--000099998"},
		{"other digits are left alone", "/l/n-12345-0000000001x", "/l/n-12345--000099999x"},
		{"without a number nothing changes", "/l", "/l"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := string(shiftNumbers([]byte(row.real))); got != row.shown {
				t.Errorf("shown as %q, want %q", got, row.shown)
			}
			if got := realPath(row.shown); got != row.real {
				t.Errorf("back as %q, want %q", got, row.real)
			}
		})
	}
}

// framed is bytes with their length before them, as ZooKeeper sends them.
func framed(b []byte) []byte {
	return append([]byte{byte(len(b) >> 24), byte(len(b) >> 16), byte(len(b) >> 8), byte(len(b))}, b...)
}

// However the bytes are cut, whole frames come out, each rewritten once.
func TestWrapped_anyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent, shown []byte
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, wrapBy-1), 1, 20).Draw(t, "numbers") {
			pad := bytes.Repeat([]byte("x"), rapid.IntRange(0, 30).Draw(t, "pad"))
			sent = append(sent, framed(fmt.Appendf(pad, "/l/n-%010d", n))...)
			shown = append(shown, framed(fmt.Appendf(pad, "/l/n-%010d", n-wrapBy))...)
		}
		near, far := net.Pipe()
		defer near.Close()
		w := &wrapped{Conn: near}
		go func() {
			defer far.Close()
			for rest := sent; len(rest) > 0; {
				k := min(len(rest), rapid.IntRange(1, 40).Draw(t, "piece"))
				if _, err := far.Write(rest[:k]); err != nil {
					return
				}
				rest = rest[k:]
			}
		}()
		got, err := io.ReadAll(w)
		if err != nil || !bytes.Equal(got, shown) {
			t.Fatalf("read %q (%v), want %q", got, err, shown)
		}
	})
}

// A session behind the shift sees negative numbers, can use the names that it sees,
// and leaves real ones in the tree.
func TestWrapNumbers_real(t *testing.T) {
	open := func(dial zk.Dialer) *recipes.Session {
		s, err := recipes.Open(t.Context(), ensemble.Servers()[:1], recipes.Options{Timeout: 4 * time.Second, Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	shifted, plain := open(wrapNumbers(net.DialTimeout)), open(nil)
	path, err := shifted.Create(t.Context(), "/sequence-test-", []byte("x"), zk.FlagEphemeral|zk.FlagSequence)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(path, "/sequence-test--") {
		t.Errorf("the client is told %q, want a negative number", path)
	}
	if data, _, err := shifted.Get(t.Context(), path); err != nil || string(data) != "x" {
		t.Errorf("the client cannot use the name that it was told: %q, %v", data, err)
	}
	if data, _, err := plain.Get(t.Context(), realPath(path)); err != nil || string(data) != "x" {
		t.Errorf("the tree does not have %s: %q, %v", realPath(path), data, err)
	}
}
