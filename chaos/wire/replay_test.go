package wire

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"
)

// call is a write or a read of a recorded session.
type call struct {
	out   bool
	bytes []byte
}

type recorded struct {
	calls          []call
	client, server []byte // all that each side sent
}

func recording(t testing.TB) recorded {
	t.Helper()
	text, err := os.ReadFile("testdata/session.txt")
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	for line := range strings.Lines(string(text)) {
		way, digits, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || way == "#" {
			continue
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		r.calls = append(r.calls, call{way == ">", b})
		if way == ">" {
			r.client = append(r.client, b...)
		} else {
			r.server = append(r.server, b...)
		}
	}
	return r
}

// A real session, byte for byte.
func TestConn_countsARecordedSession(t *testing.T) {
	r := recording(t)
	b := newBench(t)
	defer b.tap.Close()
	for _, c := range r.calls {
		if c.out {
			b.write(c.bytes)
		} else {
			b.read(c.bytes)
		}
	}
	if !bytes.Equal(b.far.sent(), r.client) {
		t.Error("the server got other bytes than the client sent")
	}
	n := b.c.Counts()
	for what, got := range map[string][2]int64{
		"create": {n.Requests.Of(Create), 1}, "exists": {n.Requests.Of(Exists), 2},
		"getChildren2": {n.Requests.Of(GetChildren2), 1}, "getData": {n.Requests.Of(GetData), 1},
		"setData": {n.Requests.Of(SetData), 2}, "delete": {n.Requests.Of(Delete), 2},
		"sync": {n.Requests.Of(Sync), 1}, "multi": {n.Requests.Of(Multi), 1}, "auth": {n.Requests.Of(Auth), 1},
		"closeSession": {n.Requests.Of(CloseSession), 1}, "all": {n.Requests.Total(), 13},
		"failed exists": {n.Errors.Of(Exists), 1}, "failed sets": {n.Errors.Of(SetData), 1}, "failed": {n.Errors.Total(), 2},
		"created": {n.Notifications.Created, 1}, "child": {n.Notifications.Child, 1},
		"changed": {n.Notifications.Changed, 1}, "deleted": {n.Notifications.Deleted, 1},
		"in flight": {n.InFlight, 0}, "abandoned": {n.Abandoned, 0}, "unmatched": {n.Unmatched, 0}, "unreadable": {n.ParseErrors, 0},
		"bytes out": {n.BytesOut, int64(len(r.client))}, "bytes in": {n.BytesIn, int64(len(r.server))},
		"frames out": {n.FramesOut, 14 + n.Requests.Of(Ping)}, "frames in": {n.FramesIn, 18 + n.Requests.Of(Ping)},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d, want %d", what, got[0], got[1])
		}
	}
	s := b.c.Session()
	if s.ID == 0 || s.Timeout != 4*time.Second || !s.Closed || s.Server != "" || len(s.Password) != 16 {
		t.Errorf("session: %+v", s)
	}
	if len(b.events) != 2 || b.events[0].Kind != Connected || b.events[1].Kind != Closed {
		t.Errorf("events: %+v", b.events)
	}
}
