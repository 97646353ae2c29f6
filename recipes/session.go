package recipes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// State is what a session knows about itself.
type State int

// The states of a session. Suspended means unknown: the connection is gone and the
// session may or may not live on at the servers. Ended is final.
const (
	Connecting State = iota
	Connected
	Suspended
	Ended
)

func (s State) String() string {
	return [...]string{"connecting", "connected", "suspended", "ended"}[s]
}

// Options of a session.
type Options struct {
	Timeout time.Duration // session timeout to ask for; default 10 s. The servers may grant another
	// Dial opens connections; default net.DialTimeout.
	Dial zk.Dialer
	// MaxPacket is the largest request or reply, in bytes; default 64 KiB, at least
	// 4 KiB. Two buffers of this size are most of what a session costs in memory.
	MaxPacket int
	// OnState is told every change of state, in order, the moment it is known. It
	// must return at once and must not call the session. Nil is allowed.
	OnState func(State)
}

// Session is exactly one ZooKeeper session. Once it has ended, because the servers
// expired it, because nothing was acknowledged for a whole timeout, or because it
// was closed, it stays ended: a new session needs a new Session.
type Session struct {
	options Options
	servers []string
	conn    *zk.Conn
	loop    <-chan zk.Event // closed when go-zookeeper's goroutines are gone

	done    chan struct{} // closed when the session has ended
	closing sync.WaitGroup

	mu          sync.Mutex
	state       State
	changed     chan struct{} // closed and replaced at every change of state
	cause       error         // why it ended
	id          int64
	password    []byte
	negotiated  time.Duration
	lastHeard   time.Time // send time of the last acknowledged frame
	lastWrite   time.Time // send time of the last acknowledged write
	deadline    *time.Timer
	link        *link
	dialErr     error
	watchers    map[int]func(State)
	nextWatcher int
	flights     map[string]*flight // by path
}

// Open establishes a session with one of the servers (host:port), tried in the
// given order, and returns when it stands or ctx is done.
func Open(ctx context.Context, servers []string, o Options) (*Session, error) {
	if len(servers) == 0 {
		return nil, errors.New("open a session: no servers given")
	}
	s := newSession(servers, o)
	h := &hosts{s: s, servers: s.servers}
	conn, events, err := zk.Connect(s.servers, s.options.Timeout,
		zk.WithDialer(h.dial), zk.WithHostProvider(h), zk.WithEventCallback(s.observe),
		zk.WithLogger(silence{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(s.options.MaxPacket), zk.WithMaxConnBufferSize(s.options.MaxPacket))
	if err != nil {
		return nil, fmt.Errorf("open a session with %v: %w", servers, err)
	}
	s.mu.Lock()
	s.conn, s.loop = conn, events
	s.mu.Unlock()
	if err := s.AwaitConnected(ctx); err != nil {
		why := s.lastDialError()
		s.Abandon()
		return nil, fmt.Errorf("open a session with %v: %w%s", servers, err, why)
	}
	return s, nil
}

func newSession(servers []string, o Options) *Session {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Dial == nil {
		o.Dial = net.DialTimeout
	}
	if o.MaxPacket <= 0 {
		o.MaxPacket = 64 << 10
	}
	o.MaxPacket = max(o.MaxPacket, 4<<10)
	return &Session{
		options: o, servers: append([]string(nil), servers...),
		negotiated: o.Timeout, done: make(chan struct{}), changed: make(chan struct{}),
		watchers: map[int]func(State){}, flights: map[string]*flight{}, lastHeard: time.Now(),
	}
}

// silence is a logger for go-zookeeper: what it would log, the session reports.
type silence struct{}

func (silence) Printf(string, ...any) {}

// ID returns the session id; 0 before the session stands.
func (s *Session) ID() int64 { s.mu.Lock(); defer s.mu.Unlock(); return s.id }

// Password returns the session's password, which together with the id is the
// right to continue or close it.
func (s *Session) Password() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]byte(nil), s.password...)
}

// Timeout returns the negotiated session timeout.
func (s *Session) Timeout() time.Duration { return s.timeout() }

func (s *Session) timeout() time.Duration { s.mu.Lock(); defer s.mu.Unlock(); return s.negotiated }

// State returns the present state.
func (s *Session) State() State { s.mu.Lock(); defer s.mu.Unlock(); return s.state }

// Deadline is the instant from which on the servers may have expired the session:
// the send time of the last acknowledged request or ping plus the negotiated timeout.
func (s *Session) Deadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastHeard.Add(s.negotiated)
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns nil while the session may live, and afterwards why it ended. The
// error wraps ErrSessionEnded.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Ended {
		return nil
	}
	return ended(s.cause)
}

// AwaitConnected returns when the session is connected, has ended, or ctx is done.
func (s *Session) AwaitConnected(ctx context.Context) error {
	for {
		s.mu.Lock()
		state, changed, cause := s.state, s.changed, s.cause
		s.mu.Unlock()
		switch state {
		case Connected:
			return nil
		case Ended:
			return ended(cause)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends the session at the servers, which removes its ephemeral nodes, and
// returns when nothing of it runs any more. If the servers cannot be reached they
// will expire it; that is not an error.
func (s *Session) Close() error {
	s.begin(ErrClosed, nil)
	s.finish()
	return nil
}

// Abandon drops the session without telling the servers, as a crash would: its
// ephemeral nodes stay until the servers expire it. It returns when nothing of the
// client runs any more.
func (s *Session) Abandon() {
	s.end(ErrAbandoned)
	s.finish()
}

// finish returns when nothing of the ended session runs any more.
func (s *Session) finish() {
	s.mu.Lock()
	cause, l := s.cause, s.link
	s.mu.Unlock()
	if cause == ErrClosed {
		s.conn.Close() // says goodbye, and waits for the answer for a second
		if l != nil {
			l.Conn.Close() // else a server that hangs would keep us for most of a timeout
		}
	}
	// In all other cases end closes the connection first, so that no goodbye goes
	// out: the Conn must not be closed before that.
	s.closing.Wait()
	s.conn.Close()
	<-s.loop
}

// begin moves to Ended and starts then in the background, the first time.
func (s *Session) begin(cause error, then func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Ended {
		return
	}
	if then != nil {
		s.closing.Go(then)
	}
	s.cause = cause
	if s.deadline != nil {
		s.deadline.Stop()
	}
	s.setState(Ended)
	close(s.done)
}

// end finishes the session from our side: no byte of it goes out any more. The
// rest happens in the background, because the Conn's Close blocks for up to a
// second when there is no connection, and end is called from its own loops.
func (s *Session) end(cause error) {
	s.begin(cause, func() {
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

// background runs f beside the session, which waits for it before it is finished;
// false if the session has ended. The caller does not hold mu.
func (s *Session) background(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Ended {
		return false
	}
	s.closing.Go(f)
	return true
}

// setState changes the state and tells everybody, in order. The caller holds mu.
func (s *Session) setState(next State) {
	if s.state == next || s.state == Ended {
		return
	}
	s.state = next
	close(s.changed)
	s.changed = make(chan struct{})
	if s.options.OnState != nil {
		s.options.OnState(next)
	}
	for _, f := range s.watchers {
		f(next)
	}
}

// subscribe registers f for changes of state and returns the state at that
// instant. f runs under the session's lock: it must return at once.
func (s *Session) subscribe(f func(State)) (now State, cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.nextWatcher
	s.nextWatcher++
	s.watchers[key] = f
	return s.state, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, key)
	}
}

// observe is go-zookeeper's event callback: it must not block nor call the Conn.
func (s *Session) observe(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	switch e.State {
	case zk.StateHasSession:
		s.mu.Lock()
		s.setState(Connected)
		s.mu.Unlock()
	case zk.StateDisconnected:
		s.mu.Lock()
		if s.state == Connected {
			s.setState(Suspended)
		}
		s.mu.Unlock()
	case zk.StateExpired:
		s.end(ErrExpired)
	}
}
