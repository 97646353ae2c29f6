package agents

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// Fleet is the coordinator's view of a run's agents. All methods are safe for concurrent use.
type Fleet struct {
	version     string
	logf        func(format string, args ...any)
	credentials *credentials
	listener    net.Listener
	work        sync.WaitGroup

	mu          sync.Mutex
	peers       []*peer // agents that have joined, in order; lost ones stay
	changed     chan struct{}
	lastRefusal error             // why the last agent was refused
	pending     map[net.Conn]bool // connections that have not joined yet
	closed      bool
}

// maxPending bounds the connections that have not joined: any process can open one.
const maxPending = 64

// Listen creates a fleet without agents. Agents dial address (host:port; port 0 selects a free port) and must
// have the given version. Close must be called.
func Listen(address, version string, logf func(format string, args ...any)) (*Fleet, error) {
	c, err := newCredentials()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for agents: %w", err)
	}
	f := &Fleet{version: version, logf: logf, credentials: c, listener: l,
		changed: make(chan struct{}), pending: map[net.Conn]bool{}}
	f.work.Go(f.accept)
	return f, nil
}

// Join returns the credentials of an agent that dials the coordinator at host; "" is the listener's host.
func (f *Fleet) Join(host string) Join {
	j := f.credentials.join
	j.Version, j.Address = f.version, f.listener.Addr().String()
	if host != "" {
		_, port, _ := net.SplitHostPort(j.Address) // always host:port
		j.Address = net.JoinHostPort(host, port)
	}
	return j
}

func (f *Fleet) accept() {
	for {
		conn, err := f.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if !f.begin(conn) {
			_ = conn.Close()
			continue
		}
		f.work.Go(func() {
			// The connection ends in time, whether or not the other end answers.
			late := time.AfterFunc(handshakeLimit, func() { _ = conn.Close() })
			err := f.admit(conn)
			late.Stop()
			f.mu.Lock()
			delete(f.pending, conn)
			if err != nil {
				f.lastRefusal = fmt.Errorf("%s: %w", conn.RemoteAddr(), err)
			}
			f.mu.Unlock()
			if err != nil {
				f.logf("an agent from %s was rejected: %v", conn.RemoteAddr(), err)
				_ = conn.Close()
			}
		})
	}
}

// begin records a pending connection. It returns false if there are too many or the fleet is closing.
func (f *Fleet) begin(conn net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || len(f.pending) >= maxPending {
		return false
	}
	f.pending[conn] = true
	return true
}

func (f *Fleet) admit(conn net.Conn) error {
	secure := tls.Server(conn, f.credentials.server)
	ctx, cancel := context.WithTimeout(context.Background(), handshakeLimit)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("its certificate is missing or not from this run: %w", err)
	}
	link, err := yamux.Client(secure, linkConfig())
	if err != nil {
		return err
	}
	h, err := f.handshake(link)
	if err != nil {
		return errors.Join(err, link.Close())
	}
	p, err := newPeer(f, h, link)
	if err != nil {
		return errors.Join(err, link.Close())
	}
	f.add(p, conn)
	return nil
}

func (f *Fleet) handshake(link *yamux.Session) (h msg.Hello, err error) {
	s, err := link.AcceptStream()
	if err != nil {
		return h, err
	}
	defer s.Close()
	_ = s.SetDeadline(time.Now().Add(handshakeLimit))
	if err := readMessage(s, &h); err != nil {
		return h, err
	}
	refused := checkVersion(f.version, h.Version)
	err = errors.Join(refused, writeMessage(s, msg.Welcome{Refused: msg.ErrorText(refused)}))
	if refused != nil {
		_, _ = io.Copy(io.Discard, s)
	}
	return h, err
}

// add names an agent that has joined, and wakes the waiters. Its connection is no longer pending:
// Close must notify the agent that the run is over before the connection ends.
func (f *Fleet) add(p *peer, conn net.Conn) {
	f.mu.Lock()
	delete(f.pending, conn)
	p.name = p.hello.Name
	for n := 2; slices.ContainsFunc(f.peers, func(o *peer) bool { return o.name == p.name }); n++ {
		p.name = fmt.Sprintf("%s.%d", p.hello.Name, n)
	}
	f.peers = append(f.peers, p)
	f.work.Go(p.watch)
	f.work.Go(p.serve)
	closed := f.closed
	close(f.changed)
	f.changed = make(chan struct{})
	f.mu.Unlock()
	if closed {
		p.dismiss()
		return
	}
	f.logf("agent %s has joined (from %s, clock error at most %v)", p.name, p.link.RemoteAddr(), p.clockError())
}

func (f *Fleet) logLost(p *peer) {
	f.mu.Lock()
	closed := f.closed
	f.mu.Unlock()
	if !closed {
		f.logf("lost agent %s: the connection ended or was silent for too long; the last message arrived %v ago; "+
			"its clients count as killed since that message", p.name, time.Since(p.lastSeenAt).Round(time.Millisecond))
	}
}

// joined returns all agents that have joined, including lost ones, by index, then in order of joining.
func (f *Fleet) joined() []*peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	byIndex := func(a, b *peer) int { return a.hello.Index - b.hello.Index }
	return slices.SortedStableFunc(slices.Values(f.peers), byIndex)
}

func (f *Fleet) alive() []*peer { return slices.DeleteFunc(f.joined(), (*peer).isLost) }

// home returns the agent for the n-th client, or nil if no agent is connected. Clients are spread over all
// agents that have joined, and the clients of a lost agent over the others. An agent with the index of a lost
// agent replaces it.
func (f *Fleet) home(n int) *peer {
	var slots []*peer
	for _, p := range f.joined() {
		if last := len(slots) - 1; last >= 0 && p.hello.Index >= 0 && p.hello.Index == slots[last].hello.Index && slots[last].isLost() {
			slots = slots[:last]
		}
		slots = append(slots, p)
	}
	switch alive := slices.DeleteFunc(slices.Clone(slots), (*peer).isLost); {
	case len(alive) == 0:
		return nil
	case slots[n%len(slots)].isLost():
		return alive[n%len(alive)]
	}
	return slots[n%len(slots)]
}

func (f *Fleet) Await(ctx context.Context, n int) error {
	for {
		f.mu.Lock()
		changed, refused := f.changed, f.lastRefusal
		f.mu.Unlock()
		alive := f.alive()
		if len(alive) >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			err := fmt.Errorf("%d of %d agents have joined: %w", len(alive), n, context.Cause(ctx))
			if refused != nil {
				err = fmt.Errorf("%w; the last rejected agent: %w", err, refused)
			}
			return err
		}
	}
}

// Names returns the names of all agents that have joined, including lost ones.
func (f *Fleet) Names() []string {
	return units.Names(f.joined(), func(p *peer) string { return p.name })
}

// Close notifies the agents that the run is over, and waits for all goroutines. Later calls do nothing.
func (f *Fleet) Close() error {
	f.mu.Lock()
	first := !f.closed
	f.closed = true
	peers := slices.Clone(f.peers)
	for conn := range f.pending {
		_ = conn.Close()
	}
	f.mu.Unlock()
	var err error
	if first {
		err = f.listener.Close()
	}
	var wg sync.WaitGroup
	for _, p := range peers {
		wg.Go(p.dismiss)
	}
	wg.Wait()
	f.work.Wait()
	return err
}
