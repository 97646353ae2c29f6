package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

type listener struct {
	*net.TCPListener
	c       *client
	server  string
	between func(Dialer) Dialer // may be nil; guarded by c.mu
	ctx     context.Context     // done when the listener is closed
	close   context.CancelFunc
	all     sync.WaitGroup
}

// Listen opens a listener on loopback for a client in another process: a connection to addr is a
// connection to the server through the tap, as with Dial. between wraps the client's dialer; it may
// be nil. A second call for the same server returns the same address, and its between applies to
// later connections. With [Addresses], addr is the address or name that clients know, also after a move.
// Tap.Close closes the listener.
//
// While the gate is closed, a new connection is reset. In a hold the connection is accepted, and its
// bytes are kept back.
func (c *client) Listen(server string, between func(Dialer) Dialer) (addr string, err error) {
	ip, known := net.IPv4(127, 0, 0, 1), "127.0.0.1"
	if a := c.tap.addresses; a != nil {
		a.mu.Lock() // a move waits
		defer a.mu.Unlock()
		ip, known = a.ip(server, a.moves[server]), a.ip(server, 0).String()
		if a.Hosts != "" {
			known = a.name(server)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return "", ErrClosed
	}
	l := c.listeners[server]
	if l == nil {
		if l, err = c.open(server, &net.TCPAddr{IP: ip}); err != nil {
			return "", err
		}
	}
	l.between = between
	return net.JoinHostPort(known, strconv.Itoa(l.port())), nil
}

// open opens a listener, which replaces an earlier one for the server. The caller holds c.mu.
func (c *client) open(server string, at *net.TCPAddr) (*listener, error) {
	socket, err := net.ListenTCP("tcp", at)
	if err != nil {
		return nil, err
	}
	l := &listener{TCPListener: socket, c: c, server: server}
	l.ctx, l.close = context.WithCancel(context.Background())
	if c.listeners == nil {
		c.listeners = map[string]*listener{}
	}
	c.listeners[server] = l
	l.all.Go(l.accept)
	return l, nil
}

func (l *listener) port() int { return l.Addr().(*net.TCPAddr).Port }

func (c *client) closeListeners() {
	c.mu.Lock()
	listeners := c.listeners
	c.listeners = nil
	c.mu.Unlock()
	for _, l := range listeners {
		l.end()
	}
	for _, l := range listeners {
		l.all.Wait()
	}
}

// end closes the listener and its connections; all is done once they have ended.
func (l *listener) end() {
	l.close()
	_ = l.TCPListener.Close() // connections end with ctx
}

func (l *listener) accept() {
	for l.ctx.Err() == nil {
		near, err := l.AcceptTCP()
		if err == nil {
			l.all.Go(func() { l.serve(near) })
			continue
		}
		select { // out of file descriptors: the client waits
		case <-time.After(10 * time.Millisecond):
		case <-l.ctx.Done():
		}
	}
}

func (l *listener) serve(near *net.TCPConn) {
	defer near.Close()
	if admit := l.c.tap.admit; admit != nil && !admit(near) {
		_ = near.SetLinger(0) // a reset, as from a closed port
		return
	}
	far, sent, err := l.connect(near)
	if err != nil {
		_ = near.SetLinger(0) // the client sees a reset
		return
	}
	defer context.AfterFunc(l.ctx, func() { _, _ = far.Close(), near.Close() })()
	var up sync.WaitGroup
	up.Go(func() {
		if _, err := far.Write(sent); err == nil {
			_ = pump(far, near, 4<<10)
		}
		_ = far.Close()
	})
	if err := pump(near, far, 16<<10); errors.Is(err, ErrCut) {
		_ = near.SetLinger(0)
		_ = near.Close()
	} else {
		// If near were closed at once, the last reply could be lost.
		_, _ = near.CloseWrite(), near.SetReadDeadline(time.Now().Add(time.Second))
	}
	up.Wait()
}

// pump copies bytes until the end or an error. Without the wrappers it would not use its own buffer.
func pump(to io.Writer, from io.Reader, size int) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, size))
	return err
}

const (
	// connectLimit bounds the time until a server accepts, unless the client closes its connection earlier.
	connectLimit = 15 * time.Second
	// aheadLimit is the number of bytes a client may send before its connection is open.
	aheadLimit = 4 << 10
)

// connect connects to the server, unless the client closes its connection in the meantime: to forward the
// bytes of that connection could take the session away from a newer one. sent holds the bytes that the
// client has sent.
func (l *listener) connect(near *net.TCPConn) (far net.Conn, sent []byte, err error) {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	var reading sync.WaitGroup
	reading.Go(func() {
		b := make([]byte, aheadLimit)
		for n := 0; n < len(b); {
			k, err := near.Read(b[n:])
			n += k
			sent = b[:n]
			if err != nil && !isTimeout(err) {
				cancel()
			}
			if err != nil {
				return
			}
		}
	})
	far, err = l.dial(ctx)
	_ = near.SetReadDeadline(time.Unix(1, 0)) // ends the read
	reading.Wait()
	if err == nil && ctx.Err() != nil {
		return nil, nil, errors.Join(ctx.Err(), far.Close())
	}
	return far, sent, errors.Join(err, near.SetReadDeadline(time.Time{}))
}

// dial dials the server for the client. In a hold it does not wait: the client's connection is open, and its
// bytes are kept back.
func (l *listener) dial(ctx context.Context) (net.Conn, error) {
	c := l.c
	open := func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.gateClosed {
			return ErrGate
		}
		return nil
	}
	dial := func(network, addr string, timeout time.Duration) (net.Conn, error) {
		return c.dial(ctx, network, addr, timeout, open)
	}
	c.mu.Lock()
	between := l.between
	c.mu.Unlock()
	if between != nil {
		dial = between(dial)
	}
	return dial("tcp", l.server, connectLimit)
}
