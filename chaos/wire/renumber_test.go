package wire

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRenumber_lowersNumbersAndRaisesThemBack(t *testing.T) {
	for _, row := range []struct{ name, real, shown string }{
		{"a number becomes negative and keeps its length", "/l/n-0000000007", "/l/n--000099993"},
		{"behind an underscore as well", "/l/_c_0123-lock_0000000000", "/l/_c_0123-lock_-000100000"},
		{"each of several", "a-0000000001b-0000000002", "a--000099999b--000099998"},
		{"other digits are left alone", "/l/n-12345-0000000001x", "/l/n-12345--000099999x"},
		{"without a number nothing changes", "/l", "/l"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := string(lowerNumbers([]byte(row.real))); got != row.shown {
				t.Errorf("shown as %q, want %q", got, row.shown)
			}
			if got := RealPath(row.shown); got != row.real {
				t.Errorf("back as %q, want %q", got, row.real)
			}
		})
	}
}

// numbers draws frames whose bodies end in a sequence number: those with the real
// numbers, and those that a client sees.
func numbers(t *rapid.T, first []byte, next func(xid int, path string) []byte) (real, shown []byte) {
	real, shown = bytes.Clone(first), bytes.Clone(first)
	for xid, n := range rapid.SliceOfN(rapid.IntRange(0, Renumbered-1), 1, 20).Draw(t, "numbers") {
		prefix := "/l/" + rapid.StringMatching("x{0,30}").Draw(t, "prefix") + "-"
		real = append(real, next(xid, fmt.Sprintf("%s%010d", prefix, n))...)
		shown = append(shown, next(xid, fmt.Sprintf("%s%010d", prefix, n-Renumbered))...)
	}
	return real, shown
}

// writePieces writes b in pieces of drawn sizes, and closes the connection.
func writePieces(t *rapid.T, c net.Conn, b []byte) {
	defer c.Close()
	for len(b) > 0 {
		n := min(len(b), rapid.IntRange(1, 40).Draw(t, "piece"))
		if _, err := c.Write(b[:n]); err != nil {
			return
		}
		b = b[n:]
	}
}

// renumberedPipe returns a client's end, renumbered, and the server's end.
func renumberedPipe(t *rapid.T) (client, server net.Conn) {
	near, far := net.Pipe()
	client, err := Renumber(func(string, string, time.Duration) (net.Conn, error) { return near, nil })("tcp", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return client, far
}

func TestRenumber_rewritesEachFrameOnceInWhateverPieces(t *testing.T) {
	reply := func(xid int, path string) []byte { return answer(xid, 1, 0, path) }
	request := func(xid int, path string) []byte { return ask(xid, Create, path) }
	t.Run("from the server", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			sent, want := numbers(t, welcome(5, time.Second), reply)
			client, server := renumberedPipe(t)
			defer client.Close()
			go writePieces(t, server, sent)
			if got, err := io.ReadAll(client); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("read %q (%v), want %q", got, err, want)
			}
		})
	})
	t.Run("from the client", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			want, sent := numbers(t, hello(0), request)
			client, server := renumberedPipe(t)
			go writePieces(t, client, sent)
			if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("the server got %q (%v), want %q", got, err, want)
			}
		})
	})
}

func TestRenumber_passesOnWhatIsNoFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		client, server := renumberedPipe(t)
		defer client.Close()
		words := []byte("zk_version-0000000001")
		go writePieces(t, server, words)
		if got, err := io.ReadAll(client); err != nil || len(got) != len(words) {
			t.Fatalf("read %q, %v", got, err)
		}
	})
}
