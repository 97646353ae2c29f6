package agents

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// Whoever is lost, the clients of the others stay where they are.
func TestFleet_home(t *testing.T) {
	for _, row := range []struct{ about, agents, want string }{
		{"spread", "a b c", "a b c a b c"},
		{"by their index", "b:1 c:2 a:0", "a b c a b c"},
		{"those of one that is lost go to others", "a b! c", "a c c a a c"},
		{"and to the one that comes back", "a:0 b:1! c:2 d:1", "a d c a d c"},
		{"which may be lost, too", "a:0 b:1! c:2 d:1!", "a c c a a c"},
		{"one index for two", "a:0 b:0 c:0!", "a b a a b b"},
		{"no index is nobody's place", "a! b c", "b b c c b c"},
		{"none is there", "a!", "- - - - - -"},
	} {
		f := &Fleet{}
		for _, word := range strings.Fields(row.agents) {
			f.peers = append(f.peers, parsePeer(word))
		}
		var got []string
		for n := range 6 {
			name := "-"
			if p := f.home(n); p != nil {
				name = p.name
			}
			got = append(got, name)
		}
		if got := strings.Join(got, " "); got != row.want {
			t.Errorf("%s: the clients of %q live on %s, want %s", row.about, row.agents, got, row.want)
		}
	}
}

// parsePeer makes an agent of name[:index][!]; ! is lost.
func parsePeer(word string) *peer {
	word, lost := strings.CutSuffix(word, "!")
	name, index, numbered := strings.Cut(word, ":")
	p := &peer{name: name, hello: msg.Hello{Index: -1}, closed: make(chan struct{})}
	if numbered {
		p.hello.Index = int(index[0] - '0')
	}
	if lost {
		close(p.closed)
	}
	return p
}

// Connections that say nothing do not keep a fleet from closing, and only so many may wait.
func TestFleet_closesBesideSilentConnections(t *testing.T) {
	f, err := Listen("127.0.0.1:0", "v", t.Logf)
	must(t, err)
	var silent []net.Conn
	for range maxPending + 10 {
		c, err := net.Dial("tcp", f.listener.Addr().String())
		must(t, err)
		defer c.Close()
		silent = append(silent, c)
	}
	// The last are refused at once, the others when the fleet closes.
	if _, err := silent[len(silent)-1].Read(make([]byte, 1)); err == nil {
		t.Error("a connection beyond the limit was answered")
	}
	began := time.Now()
	must(t, f.Close())
	if took := time.Since(began); took > handshakeLimit/2 {
		t.Errorf("closing took %v", took)
	}
}

func TestHear_hasALimit(t *testing.T) {
	var h msg.Hello
	if err := readMessage(strings.NewReader(strings.Repeat("x", 2*maxMessage)), &h); err == nil || !strings.Contains(err.Error(), "longer than 65536 bytes") {
		t.Errorf("a word without end: %v", err)
	}
	must(t, readMessage(strings.NewReader("{}\n"), &h))
}
