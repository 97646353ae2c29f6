package agents

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/rpc"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

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

// Serve joins a run and serves the coordinator until the run is over, ctx is done, or the link is lost.
// It returns nil if the run is over. All its goroutines have ended when it returns.
func (a Agent) Serve(ctx context.Context, j Join) error {
	if err := checkVersion(j.Version, a.Version); err != nil {
		return err
	}
	config, err := j.config()
	if err != nil {
		return err
	}
	own, err := clock.NewLocalClock(a.Skew)
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
	if err := a.sendHello(link); err != nil {
		return err
	}
	a.Logf("joined the run coordinated at %s", j.Address)
	over, finish := context.WithCancel(context.Background())
	defer finish()
	s := &server{agent: a, clock: own, link: link, finish: finish, trials: map[string]*servedTrial{}}
	defer s.end()
	defer context.AfterFunc(ctx, func() { _ = link.Close() })()
	err = s.streams()
	if over.Err() != nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("lost the connection to the coordinator %s: %w", j.Address, err)
}

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

func (a Agent) sendHello(link *yamux.Session) error {
	var w msg.Welcome
	s, err := link.OpenStream()
	if err == nil {
		defer s.Close()
		_ = s.SetDeadline(time.Now().Add(handshakeLimit))
		err = errors.Join(writeMessage(s, msg.Hello{Version: a.Version, Name: a.Name, Index: a.Index}), readMessage(s, &w))
	}
	if err != nil {
		return fmt.Errorf("the coordinator closed the connection (are the join file and its certificate from this run?): %w", err)
	}
	if w.Refused != "" {
		return fmt.Errorf("the coordinator rejected this agent: %s", w.Refused)
	}
	return nil
}

type server struct {
	agent  Agent
	clock  clock.LocalClock
	link   *yamux.Session
	finish context.CancelFunc // called when the run is over

	mu        sync.Mutex
	trials    map[string]*servedTrial
	processes []servedProcess // by number
	ended     bool
	work      sync.WaitGroup
}

func (s *server) streams() error {
	calls := rpc.NewServer()
	if err := calls.RegisterName("Agent", s); err != nil { // its exported methods
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
	if readMessage(stream, &o) != nil {
		return
	}
	switch o.Kind {
	case msg.StreamCalls:
		calls.ServeConn(stream)
	case msg.StreamEvents:
		if t, err := s.trial(o.Trial); err == nil {
			t.sendEvents(stream)
		}
	default:
		s.process(o.ID).attach(o.Kind, stream, s.link.IsClosed)
	}
}

// add calls f, which adds a trial or a process, with the lock held. After the end of the link it returns an error
// instead, because a call can still be in progress, and would add something that is never ended.
func (s *server) add(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errors.New("the link to the coordinator has ended")
	}
	f()
	return nil
}

func (s *server) end() {
	_ = s.link.Close()
	s.mu.Lock()
	s.ended = true
	processes, trials := s.processes, s.trials
	s.trials = nil
	s.mu.Unlock()
	for _, t := range trials {
		t.end() // first, so that no client can close its session
	}
	for _, p := range processes {
		p.end()
	}
	s.work.Wait()
}

func (s *server) Over(msg.Nothing, *msg.Nothing) error {
	s.finish()
	return nil
}

func (s *server) Clock(_ msg.Nothing, now *int64) error {
	*now = s.clock.At(time.Now())
	return nil
}

// inside serves a compiled-in subject within the agent's own process, as zkbench run does without agents.
// In a separate process each request would have to pass through a listener.
func (s *server) inside(name string) (site.Process, error) {
	subject, err := recipes.Find(name)
	if err != nil {
		return nil, err
	}
	return site.Inside(func(ctx context.Context, in io.Reader, out io.Writer) error {
		return driver.ServeOver(ctx, subject, s.dial, in, out)
	}).Start()
}

// dial connects a client in this process. The client was given the address of a listener for the server;
// dial uses the tap behind it directly.
func (s *server) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	s.mu.Lock()
	trials := slices.Collect(maps.Values(s.trials))
	s.mu.Unlock()
	for _, t := range trials {
		t.mu.Lock()
		dial := t.behind[addr]
		t.mu.Unlock()
		if dial != nil {
			return dial(network, addr, timeout)
		}
	}
	return nil, fmt.Errorf("%s: %w", addr, wire.ErrClosed)
}

type servedProcess struct{ site.Process }

func (s *server) process(number int) servedProcess {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processes[number]
}

func (s *server) Start(a msg.StartArgs, r *msg.StartReply) error {
	p, err := s.start(a)
	if err != nil {
		return fmt.Errorf("on %s: %w", s.agent.Name, err)
	}
	err = s.add(func() {
		r.ID, r.PID = len(s.processes), p.PID()
		s.processes = append(s.processes, servedProcess{p})
		s.work.Go(func() {
			<-p.Exited()
			late := time.Now().Add(outputLimit)
			_, _ = p.Stdout().SetReadDeadline(late), p.Stderr().SetReadDeadline(late)
		})
	})
	if err != nil {
		servedProcess{p}.end()
	}
	return err
}

func (s *server) start(a msg.StartArgs) (site.Process, error) {
	args := a.Args
	switch {
	case len(args) == 2 && args[0] == site.Agent:
		return s.inside(args[1])
	case len(args) > 0 && args[0] == site.Self:
		args = slices.Concat(s.agent.Self, args[1:])
	}
	return site.Here{}.Start(site.Program{Args: args, Env: append(a.Env, clock.Skew+"="+s.agent.Skew), Dir: a.Dir, Mark: a.MarkKey + "=" + s.agent.Owner})
}

// attach copies one of the program's pipes until it ends. If the link ends first, the program is not
// notified, because it would close its sessions, which a lost client cannot do.
func (p servedProcess) attach(kind string, stream net.Conn, lost func() bool) {
	switch kind {
	case msg.StreamStdin:
		if _, _ = io.Copy(p.Stdin(), stream); !lost() {
			_ = p.Stdin().Close()
		}
	case msg.StreamStdout:
		_, _ = io.Copy(stream, p.Stdout())
		_ = p.Stdout().Close()
	case msg.StreamStderr:
		_, _ = io.Copy(stream, p.Stderr())
		_ = p.Stderr().Close()
	}
}

// outputLimit bounds the time in which output is read after a program's exit: processes that have left its
// group may keep the pipes open.
const outputLimit = 10 * time.Second

func (s *server) Signal(a msg.SignalArgs, _ *msg.Nothing) error {
	p := s.process(a.ID)
	switch a.What {
	case msg.Pause:
		return p.Pause()
	case msg.Resume:
		return p.Resume()
	case msg.Kill:
		p.Kill()
		return nil
	}
	return fmt.Errorf("unknown action on a process: %q", a.What)
}

func (s *server) Group(id int, r *msg.GroupReply) error {
	r.All, r.Stopped = chaos.GroupHere(s.process(id).PID())
	return nil
}

func (s *server) Exit(id int, r *msg.ExitReply) error {
	p := s.process(id)
	<-p.Exited()
	r.Text, r.Code = p.State()
	return nil
}

// end kills a program that has not exited, and closes its pipes.
func (p servedProcess) end() {
	select {
	case <-p.Exited():
	default:
		p.Kill()
		<-p.Exited()
	}
	_, _ = p.Stdout().SetReadDeadline(time.Now()), p.Stderr().SetReadDeadline(time.Now())
	_, _, _ = p.Stdin().Close(), p.Stdout().Close(), p.Stderr().Close()
}
