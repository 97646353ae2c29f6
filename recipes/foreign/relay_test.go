package foreign

import (
	"io"
	"net"
	"sync"
	"testing"
)

// relay passes a driver's connections on to the server, until they are cut.
type relay struct {
	listener net.Listener

	mu     sync.Mutex
	broken bool
	conns  []net.Conn
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l}
	t.Cleanup(func() {
		l.Close()
		r.cut()
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			r.pass(client)
		}
	}()
	return r
}

func (r *relay) addr() string { return r.listener.Addr().String() }

func (r *relay) pass(client net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	server, err := net.Dial("tcp", servers[0])
	if r.broken || err != nil {
		client.Close()
		return
	}
	r.conns = append(r.conns, client, server)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			io.Copy(way[0], way[1])
			way[0].Close()
			way[1].Close()
		}()
	}
}

// cut breaks all connections, and those to come.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = true
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

func (r *relay) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = false
}
