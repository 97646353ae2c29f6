package recipes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

// Options are the options of a session.
type Options struct {
	Timeout time.Duration // requested session timeout; default 10 s. The servers may grant another
	Dial    zk.Dialer     // default net.DialTimeout
	// MaxPacket is the largest request or reply, in bytes; default 64 KiB, at least 4 KiB. A
	// session has a buffer of 4 KiB for requests and another for replies. Each grows to MaxPacket at the
	// first longer message. The first request of 3.5 KiB or more costs one additional round trip.
	MaxPacket int
	Auth      []Auth // credentials of every connection
	ACL       []zk.ACL
}

// Auth is the credentials of a connection: a scheme, such as "digest", and its value, such as "user:password".
type Auth = client.Auth

// Session is exactly one ZooKeeper session. Once it has ended, because the servers expired it,
// because no request was acknowledged for a whole timeout, or because it was closed, it stays ended; open
// a new Session for a new session.
type Session struct {
	options Options
	conn    *zk.Conn
	zkDone  <-chan zk.Event // closed when go-zookeeper's goroutines have ended

	done       chan struct{} // closed when the session has ended
	goroutines sync.WaitGroup

	mu               sync.Mutex
	state            sessionState
	changed          chan struct{} // closed and replaced at every change of state
	cause            error         // the reason why the session ended
	id               int64         // 0 before the session is open
	negotiated       time.Duration // session timeout
	lastHeard        time.Time     // send time of the last acknowledged frame
	lastWrite        time.Time     // send time of the last acknowledged write
	deadlineTimer    *time.Timer
	link             *link
	dialErr          error
	watchers         map[any]func(sessionState) // called at every change of state; by grant
	creates          map[string]*sentCreate     // by path
	buffer           int                        // size of go-zookeeper's buffer for requests, in bytes
	needsLargeBuffer bool                       // whether the buffer must grow to MaxPacket bytes
}

// Open establishes a session with one of the servers (host:port), tried in the given order, and
// returns when it is open or ctx is done.
func Open(ctx context.Context, servers []string, o Options) (*Session, error) {
	if len(servers) == 0 {
		return nil, errors.New("open a session: no servers given")
	}
	s := newSession(o)
	d := &dialer{s: s, servers: slices.Clone(servers)}
	conn, events, err := client.Connect(client.Options{
		Servers: d.servers, Timeout: s.options.Timeout, Dial: d.dial, Hosts: d,
		MaxPacket: s.options.MaxPacket, MaxRequest: s.buffer,
	}, s.observe)
	if err != nil {
		return nil, fmt.Errorf("open a session with %v: %w", servers, err)
	}
	s.mu.Lock()
	s.conn, s.zkDone = conn, events
	s.mu.Unlock()
	err = s.AwaitConnected(ctx)
	if err == nil {
		err = client.Authenticate(ctx, conn, o.Auth)
	}
	if err != nil {
		s.mu.Lock()
		dialErr := s.dialErr
		s.mu.Unlock()
		s.abandon()
		if dialErr != nil {
			err = fmt.Errorf("%w (last connection error: %v)", err, dialErr)
		}
		return nil, fmt.Errorf("open a session with %v: %w", servers, err)
	}
	return s, nil
}

func newSession(o Options) *Session {
	if o.Dial == nil {
		o.Dial = net.DialTimeout
	}
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.MaxPacket = max(cmp.Or(o.MaxPacket, 64<<10), 4<<10)
	return &Session{
		options: o, negotiated: o.Timeout, lastHeard: time.Now(), buffer: min(o.MaxPacket, firstRequest),
		done: make(chan struct{}), changed: make(chan struct{}),
		watchers: map[any]func(sessionState){}, creates: map[string]*sentCreate{},
	}
}

// ID returns the session ID; 0 before the session is open.
func (s *Session) ID() int64 { s.mu.Lock(); defer s.mu.Unlock(); return s.id }

// Err returns nil while the session may be alive, and afterwards an error with the reason for its end,
// which wraps ErrSessionEnded.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != ended {
		return nil
	}
	return sessionEnded(s.cause)
}

// Close ends the session at the servers, which removes its ephemeral nodes, and returns when all its goroutines have
// ended. If the servers cannot be reached they will expire the session, and Close still returns nil.
func (s *Session) Close() error {
	s.markEnded(errClosed, nil)
	s.finish()
	return nil
}

// abandon drops the session without ending it at the servers, as a crash does: its ephemeral nodes
// stay until it expires. It returns when all its goroutines have ended.
func (s *Session) abandon() {
	s.end(errAbandoned)
	s.finish()
}

func (s *Session) finish() {
	s.mu.Lock()
	cause, l := s.cause, s.link
	s.mu.Unlock()
	if cause == errClosed {
		s.conn.Close() // ends the session at the servers, and waits up to a second for the reply
		if l != nil {
			l.Conn.Close() // otherwise a server that hangs would block for most of a timeout
		}
	}
	// In all other cases end closes the connection first, so that the session is not ended at the
	// servers: the Conn must not be closed before that.
	s.goroutines.Wait()
	s.conn.Close()
	<-s.zkDone
}

func (s *Session) markEnded(cause error, then func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == ended {
		return
	}
	if then != nil {
		s.goroutines.Go(then)
	}
	s.cause = cause
	if s.deadlineTimer != nil {
		s.deadlineTimer.Stop()
	}
	s.setState(ended)
	close(s.done)
}

// end ends the session on our side: no further byte is sent. It closes the connection in the background, because the
// Conn's Close blocks for up to a second without a connection, and the Conn's own loops call end.
func (s *Session) end(cause error) {
	s.markEnded(cause, func() {
		s.mu.Lock()
		l, conn := s.link, s.conn
		s.mu.Unlock()
		if l != nil {
			l.Conn.Close()
		}
		if conn != nil {
			conn.Close()
		}
	})
}

// go-zookeeper has one buffer per session in which it encodes requests. Nearly all of them are
// short, and thousands of sessions share one process, so the buffer is small at first. Before the first
// long request it is replaced by a buffer of MaxPacket bytes. Only go-zookeeper's send loop may do that,
// between two requests: after each write it removes the write deadline, which calls
// link.SetWriteDeadline. So the session sends one short request before the first long one.

const (
	firstRequest = 4 << 10 // bytes of the first buffer
	// requestOverhead is an upper bound of the size of a request without its paths, data and ACL, with a margin: a request
	// that ends at the very end of the buffer makes go-zookeeper panic.
	requestOverhead = 512
)

// ensureBuffer makes go-zookeeper's buffer large enough for a request with n bytes of paths, data and ACL.
// After an error the buffer may be too small, and the request must not be sent.
func (s *Session) ensureBuffer(ctx context.Context, n int) error {
	s.mu.Lock()
	short := s.buffer < s.options.MaxPacket && n+requestOverhead > s.buffer
	s.needsLargeBuffer = s.needsLargeBuffer || short
	s.mu.Unlock()
	if !short {
		return nil
	}
	_, err := s.Exists(ctx, "/")
	switch {
	case err != nil && s.Err() != nil:
		return s.Err()
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// growBuffer replaces the buffer by a larger one if ensureBuffer has requested that. Only the send loop calls
// it, or the connect loop while no send loop runs.
func (s *Session) growBuffer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.needsLargeBuffer && s.buffer < s.options.MaxPacket {
		s.buffer = s.options.MaxPacket
		zk.WithMaxConnBufferSize(s.buffer)(s.conn)
	}
}

// dialer gives go-zookeeper the servers in the caller's order, repeatedly, and dials them. Its waits
// between rounds are at first shorter than the library's wait of one second, so that a measured failover
// does not include the client's back-off. Every dial resolves the server's name again, so a session finds
// servers that come back under other addresses; the library's own provider resolves names only once. All methods run on go-zookeeper's connect loop.
type dialer struct {
	s       *Session
	servers []string
	next    int
	failed  int // dials since the last session was established
}

func (d *dialer) Init([]string) error { return nil } // the library shuffles its list; this one keeps its order
func (d *dialer) Len() int            { return len(d.servers) }
func (d *dialer) Connected()          { d.failed = 0 }

// Next returns the next server. retryStart is true once the session has ended: it makes the connect loop
// check whether it should end.
func (d *dialer) Next() (server string, retryStart bool) {
	server = d.servers[d.next%len(d.servers)]
	d.next++
	return server, d.s.Err() != nil
}

const (
	firstBackoff = 20 * time.Millisecond
	maxBackoff   = time.Second
)

// dial opens a connection for the session. It fails once the session has ended, so that go-zookeeper
// cannot start another session.
//
// It does not sleep in the first round over the servers, and twice as long in each further round, with
// jitter so that clients do not reconnect at the same time. The timeout, first go-zookeeper's, doubles with
// each round too: if thousands of clients reconnect at once, dials delay each other, and with a constant
// timeout all of them could fail forever.
func (d *dialer) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	s, round := d.s, min(d.failed/len(d.servers), 10)
	if round > 0 {
		pause := min(firstBackoff<<(round-1), maxBackoff)
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-s.done:
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	d.failed++
	c, err := s.options.Dial(network, addr, min(timeout<<round, s.timeout()/3))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.dialErr = fmt.Errorf("%s: %w", addr, err)
		return nil, err
	case s.state == ended:
		c.Close()
		return nil, sessionEnded(s.cause)
	}
	s.link = newLink(c, s)
	return s.link, nil
}
