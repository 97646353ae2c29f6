package agents

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// Agent is the configuration of an agent.
type Agent struct {
	Name    string   // of its machine
	Version string   // of zkbench
	Index   int      // its index, if it was started with one; otherwise -1
	Self    []string // program and arguments of zkbench
	Skew    string   // of its clock and its drivers', as in clock.Skew; "" for none
	Owner   string   // identifies this process; its children carry it
	Logf    func(format string, args ...any)
}

// dialLimit is the time for which an agent tries to reach its coordinator, which may start later.
const dialLimit = 60 * time.Second

// ErrRefused means that the coordinator refuses the agent.
var ErrRefused = errors.New("the coordinator refuses this agent")

// Serve joins a run and serves the coordinator until the run is over, which is not an error, ctx is
// done, or the link is lost. All its goroutines have ended when it returns.
func (a Agent) Serve(ctx context.Context, j Join) error {
	if err := sameVersion(j.Version, a.Version); err != nil {
		return err
	}
	config, err := j.config()
	if err != nil {
		return err
	}
	own, err := clock.NewOwn(a.Skew)
	if err != nil {
		return err
	}
	conn, err := a.dial(ctx, j.Address, config)
	if err != nil {
		return fmt.Errorf("join the run of %s: %w", j.Address, err)
	}
	link, err := yamux.Server(conn, linkConfig())
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	defer link.Close()
	if err := a.greet(link); err != nil {
		return err
	}
	a.Logf("joined the run of %s", j.Address)
	s := &server{agent: a, clock: own, link: link, over: make(chan struct{}), trials: map[string]*servedTrial{}, processes: map[int64]*servedProcess{}}
	defer s.end()
	defer context.AfterFunc(ctx, func() { _ = link.Close() })()
	err = s.streams()
	select {
	case <-s.over:
		return nil
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("the link to the coordinator %s is lost: %w", j.Address, err)
}

// dial connects to the coordinator.
func (a Agent) dial(ctx context.Context, address string, config *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	d := tls.Dialer{Config: config}
	for {
		conn, err := d.DialContext(ctx, "tcp", address)
		var refused *tls.CertificateVerificationError
		if err == nil || errors.As(err, &refused) {
			return conn, err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// greet sends hello, and returns an error if the agent is refused.
func (a Agent) greet(link *yamux.Session) error {
	w, err := a.hello(link)
	if err != nil {
		return fmt.Errorf("the coordinator hung up (is the join file, and its certificate, of this run?): %w", err)
	}
	if w.Refused != "" {
		return fmt.Errorf("%w: %s", ErrRefused, w.Refused)
	}
	return nil
}

func (a Agent) hello(link *yamux.Session) (w msg.Welcome, err error) {
	s, err := link.OpenStream()
	if err != nil {
		return w, err
	}
	defer s.Close()
	_ = s.SetDeadline(time.Now().Add(greetLimit))
	err = errors.Join(say(s, msg.Hello{Version: a.Version, Name: a.Name, Index: a.Index}), hear(s, &w))
	return w, err
}

// server is a running agent.
type server struct {
	agent Agent
	clock clock.Own
	link  *yamux.Session
	over  chan struct{} // closed when the run is over

	mu        sync.Mutex
	trials    map[string]*servedTrial
	processes map[int64]*servedProcess
	last      int64 // number of the last process
	work      sync.WaitGroup
}

// streams serves the coordinator's streams until the link ends.
func (s *server) streams() error {
	calls := rpc.NewServer()
	if err := calls.RegisterName("Agent", &service{s}); err != nil {
		return err
	}
	for {
		stream, err := s.link.AcceptStream()
		if err != nil {
			return err
		}
		s.work.Go(func() { s.stream(calls, stream) })
	}
}

func (s *server) stream(calls *rpc.Server, stream *yamux.Stream) {
	defer stream.Close()
	var o msg.Opening
	if hear(stream, &o) != nil {
		return
	}
	switch o.Kind {
	case msg.StreamCalls:
		calls.ServeConn(stream)
	case msg.StreamEvents:
		if t := s.trial(o.Of); t != nil {
			t.tell(stream)
		}
	default:
		if p := s.process(o.ID); p != nil {
			p.attach(o.Kind, stream, s.link.IsClosed)
		}
	}
}

// end stops everything that the agent has started.
func (s *server) end() {
	_ = s.link.Close()
	s.mu.Lock()
	processes, trials := s.processes, s.trials
	s.processes, s.trials = map[int64]*servedProcess{}, map[string]*servedTrial{}
	s.mu.Unlock()
	for _, t := range trials {
		t.end() // first, so that no client can close its session
	}
	for _, p := range processes {
		p.end()
	}
	s.work.Wait()
}

type service struct{ s *server }

// Over stops the agent.
func (v *service) Over(msg.Nothing, *msg.Nothing) error {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	select {
	case <-v.s.over:
	default:
		close(v.s.over)
	}
	return nil
}

// Clock reads the agent's clock.
func (v *service) Clock(_ msg.Nothing, now *int64) error {
	*now = v.s.clock.At(time.Now())
	return nil
}
