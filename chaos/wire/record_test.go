package wire_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

var update = flag.Bool("update", false, "record testdata/session.txt from a real server again")

// recorder writes down what a client sends (>) and receives (<), a line a call.
type recorder struct {
	net.Conn
	mu    sync.Mutex
	lines []string
}

func (r *recorder) note(way string, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, way+" "+hex.EncodeToString(p))
}

func (r *recorder) Write(p []byte) (int, error) {
	r.note(">", p)
	return r.Conn.Write(p)
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	if n > 0 {
		r.note("<", b[:n])
	}
	return n, err
}

// TestRecord_writesTheRecording makes the recording that the parsers are tested with: one session
// of go-zookeeper with a real server.
func TestRecord_writesTheRecording(t *testing.T) {
	if !*update {
		t.Skip("records only with -update")
	}
	r := newRig(t)
	var rec *recorder
	c, _, err := zk.Connect([]string{r.addr}, 4*time.Second, zk.WithDialer(
		func(network, addr string, timeout time.Duration) (net.Conn, error) {
			conn, err := net.DialTimeout(network, addr, timeout)
			rec = &recorder{Conn: conn}
			return rec, err
		}))
	must(t, err)
	wire.Until(t, "the session is up", func() bool { return c.State() == zk.StateHasSession })
	_, err = c.Create("/recorded", []byte("v"), 0, acl)
	must(t, err)
	_, _, created, err := c.ExistsW("/recorded/kid")
	must(t, err)
	_, _, child, err := c.ChildrenW("/recorded")
	must(t, err)
	_, err = c.Multi(&zk.CreateRequest{Path: "/recorded/kid", Acl: acl}, &zk.CheckVersionRequest{Path: "/recorded"})
	must(t, err)
	<-created
	<-child
	_, _, changed, err := c.GetW("/recorded/kid")
	must(t, err)
	_, err = c.Set("/recorded/kid", []byte("w"), 0)
	must(t, err)
	<-changed
	_, _, deleted, err := c.ExistsW("/recorded/kid")
	must(t, err)
	if _, err := c.Set("/recorded/kid", nil, 0); err == nil {
		t.Fatal("a set with an old version succeeded")
	}
	must(t, c.Delete("/recorded/kid", -1))
	<-deleted
	_, err = c.Sync("/recorded")
	must(t, err)
	must(t, c.AddAuth("digest", []byte("a:b")))
	must(t, c.Delete("/recorded", -1))
	c.Close()
	wire.Until(t, "the close is answered", func() bool { return c.State() == zk.StateDisconnected })
	rec.mu.Lock()
	defer rec.mu.Unlock()
	text := fmt.Sprintf("# go-zookeeper v1.0.4 with ZooKeeper 3.8.0, one call a line. go test -run TestRecord_writesTheRecording -update\n%s\n",
		strings.Join(rec.lines, "\n"))
	must(t, os.WriteFile("testdata/session.txt", []byte(text), 0o600))
}
