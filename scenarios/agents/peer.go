package agents

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

type peer struct {
	fleet      *Fleet
	hello      msg.Hello
	name       string
	link       *yamux.Session
	calls      *rpc.Client
	clock      clock.Map
	closed     chan struct{} // closed when it is lost or dismissed
	lastSeenAt time.Time

	mu     sync.Mutex
	trials map[string]*Trial
}

var errLost = errors.New("the connection to the agent is lost")

// callLimit bounds the time until the reply to a request that is handled at once; then the link is lost.
const callLimit = 3 * silenceLimit

const (
	firstReadings = 32
	clockInterval = 250 * time.Millisecond
)

// newPeer sets up the calls to an agent that was admitted. Fleet.add starts watch.
func newPeer(f *Fleet, h msg.Hello, link *yamux.Session) (*peer, error) {
	s, err := open(link, msg.Opening{Kind: msg.StreamCalls})
	if err != nil {
		return nil, err
	}
	p := &peer{fleet: f, hello: h, link: link, calls: rpc.NewClient(s), closed: make(chan struct{}), trials: map[string]*Trial{}}
	p.clock.SetRemote()
	for range firstReadings {
		if err := p.readClock(); err != nil {
			return nil, errors.Join(err, p.calls.Close())
		}
	}
	return p, nil
}

func (p *peer) call(what string, args, reply any) error {
	return p.await(what, args, reply, time.After(callLimit))
}

// await makes a call. If late fires before the reply, await closes the link; a nil late never fires.
func (p *peer) await(what string, args, reply any, late <-chan time.Time) error {
	c := p.calls.Go("Agent."+what, args, reply, make(chan *rpc.Call, 1))
	select {
	case <-c.Done:
		switch remote := (rpc.ServerError)(""); {
		case c.Error == nil:
			return nil
		case errors.As(c.Error, &remote):
			return fmt.Errorf("agent %s: %w", p.name, c.Error)
		}
		return fmt.Errorf("agent %s: %s: %w: %w", p.name, what, errLost, c.Error)
	case <-p.closed:
	case <-late:
		_ = p.link.Close()
	}
	return fmt.Errorf("agent %s: %s: %w", p.name, what, errLost)
}

func (p *peer) readClock() error {
	t := clock.Trip{Before: clock.Monotonic(), Sent: time.Now()}
	if err := p.call("Clock", msg.Nothing{}, &t.Now); err != nil {
		return err
	}
	t.Got, t.After = time.Now(), clock.Monotonic()
	p.clock.Add(t)
	return nil
}

func (p *peer) watch() {
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for ended := false; !ended; {
		select {
		case <-ticker.C:
			ended = p.readClock() != nil
		case <-p.link.CloseChan():
			ended = true
		}
	}
	_ = p.link.Close()
	p.lastSeenAt = p.clock.Last()
	p.mu.Lock()
	trials := p.trials
	p.trials = map[string]*Trial{}
	p.mu.Unlock()
	for _, t := range trials {
		t.removePeer(p) // before its clients move to other agents
	}
	close(p.closed)
	p.fleet.logLost(p)
	_ = p.calls.Close()
}

func (p *peer) serve() {
	for {
		s, err := p.link.AcceptStream()
		if err != nil {
			return
		}
		p.fleet.work.Go(func() {
			defer s.Close()
			var o msg.Opening
			if readMessage(s, &o) == nil && o.Kind == msg.StreamServer {
				p.relay(s, o)
			}
		})
	}
}

func (p *peer) relay(near net.Conn, o msg.Opening) {
	p.mu.Lock()
	t := p.trials[o.Trial]
	p.mu.Unlock()
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeLimit)
	defer cancel()
	if far, err := t.options.Upstream.Dial(ctx, "tcp", o.Addr); err == nil {
		join(near, far)
	}
}

func (p *peer) isLost() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

func (p *peer) clockError() time.Duration {
	_, wrong := p.clock.At(p.clock.Latest())
	return wrong
}

func (p *peer) dismiss() {
	if !p.isLost() {
		_ = p.call("Over", msg.Nothing{}, nil)
	}
	_ = p.link.Close()
	<-p.closed
}

func (p *peer) Name() string { return p.name }

// Start implements site.Site. The program's folder and files must exist on the agent's machine.
func (p *peer) Start(program site.Program) (site.Process, error) {
	key, _, _ := strings.Cut(program.Mark, "=")
	var r msg.StartReply
	if err := p.call("Start", msg.StartArgs{Args: program.Args, Env: program.Env, Dir: program.Dir, MarkKey: key}, &r); err != nil {
		return nil, err
	}
	q := &process{peer: p, id: r.ID, pid: r.PID, exited: make(chan struct{})}
	for kind, to := range map[string]*net.Conn{msg.StreamStdin: &q.stdin, msg.StreamStdout: &q.stdout, msg.StreamStderr: &q.stderr} {
		var err error
		if *to, err = open(p.link, msg.Opening{Kind: kind, ID: r.ID}); err != nil {
			q.Kill()
			return nil, err
		}
	}
	go q.watch()
	return q, nil
}

type process struct {
	peer                  *peer
	id, pid               int
	stdin, stdout, stderr net.Conn
	exited                chan struct{}
	exit                  msg.ExitReply
	lost                  bool
}

func (q *process) watch() {
	if err := q.peer.await("Exit", q.id, &q.exit, nil); err != nil {
		q.exit = msg.ExitReply{Text: err.Error(), Code: -1}
		if q.lost = errors.Is(err, errLost); q.lost {
			<-q.peer.closed // from then on its clients move to other agents
		}
	}
	close(q.exited)
}

func (q *process) PID() int                { return q.pid }
func (q *process) Stdin() site.Stdin       { return q.stdin }
func (q *process) Stdout() site.Output     { return q.stdout }
func (q *process) Stderr() site.Output     { return q.stderr }
func (q *process) Exited() <-chan struct{} { return q.exited }
func (q *process) Pause() error            { return q.signal(msg.Pause) }
func (q *process) Resume() error           { return q.signal(msg.Resume) }
func (q *process) Kill()                   { _ = q.signal(msg.Kill) }

func (q *process) signal(what string) error {
	return q.peer.call("Signal", msg.SignalArgs{ID: q.id, What: what}, nil)
}

// Group returns the existing processes of the program's group, and the stopped ones.
func (q *process) Group() (all, stopped []int) {
	var r msg.GroupReply
	_ = q.peer.call("Group", q.id, &r)
	return r.All, r.Stopped
}

func (q *process) State() (text string, code int) { return q.exit.Text, q.exit.Code }

func (q *process) Lost() bool { return q.lost }
