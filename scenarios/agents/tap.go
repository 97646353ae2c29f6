package agents

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"

	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// tapped is the tap on the connections of a client that lives on an agent. Where the agent
// cannot be asked, it shows what was last seen.
type tapped struct {
	trial  *Trial
	number int

	mu     sync.Mutex
	peer   *peer           // where the client lives; nil before its first opening
	last   msg.ClientState // what was last seen there, on the trial's clock
	counts wire.Counts     // of agents where the client has lived before, and that are lost
}

// move has the client live on an agent.
func (c *tapped) move(to *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer == to {
		return
	}
	c.settle()
	c.peer = to
}

// settle keeps what was counted where the client has lived. The caller holds c.mu.
func (c *tapped) settle() {
	if c.peer == nil || !c.peer.isLost() {
		return // an agent that is there is asked for its totals, whoever lives there now
	}
	c.last.Counts.InFlight, c.last.Counts.Queued = 0, 0
	c.counts = c.counts.Add(c.last.Counts)
	c.last.Counts = wire.Counts{}
}

// left says whether the client has lived on an agent that is lost.
func (c *tapped) left(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer != p {
		return false
	}
	c.settle()
	c.peer, c.last.Session.Server = nil, ""
	return true
}

// before returns what was counted on agents that are lost.
func (c *tapped) before() wire.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// at is where the client lives.
func (c *tapped) at() (*peer, msg.ClientArgs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer, msg.ClientArgs{Trial: c.trial.options.Trial, Client: c.number}
}

// see asks the agent what the tap shows now. All events until then have been handed on.
func (c *tapped) see() msg.ClientState {
	p, args := c.at()
	var s msg.ClientState
	if p != nil && p.call("State", args, &s) == nil {
		c.trial.heardFrom(p).wait(s.Events)
		c.trial.mapped(p, &s)
		c.mu.Lock()
		if c.peer == p {
			c.last = s
		}
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// heardFrom are the events of an agent.
func (t *Trial) heardFrom(p *peer) *heard {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heard[p]
}

// mapped puts a state on the trial's clock. A session's deadline is taken for earlier, by what
// the clock may be wrong by.
func (t *Trial) mapped(p *peer, s *msg.ClientState) {
	acked, wrong := t.instant(p, s.Session.LastAckSent)
	s.Session.LastAckSent = acked - wrong
	s.Session = s.Session.Through(t.options.Way)
	s.Known.RemovedAt, _ = t.instant(p, s.Known.RemovedAt)
	s.Notified, _ = t.instant(p, s.Notified)
}

func (c *tapped) Number() int             { return c.number }
func (c *tapped) Session() wire.Session   { return c.see().Session }
func (c *tapped) Known() wire.Known       { return c.see().Known }
func (c *tapped) Unanswered() int64       { return c.see().Unanswered }
func (c *tapped) Notified() time.Duration { return c.see().Notified }

// Counts implements wire.Client.
func (c *tapped) Counts() wire.Counts {
	here := c.see().Counts
	return here.Add(c.before())
}

// Node implements wire.Client, below the contested node.
func (c *tapped) Node(path string) (wire.Node, bool) {
	if path != c.trial.options.Parent {
		return wire.Node{}, false
	}
	s := c.see()
	return s.Node, s.HasNode
}

// errElsewhere says what only a client of this process can do.
var errElsewhere = errors.New("the client lives on an agent, where this cannot be had")

// Dial implements wire.Client: nobody here connects for the client.
func (c *tapped) Dial(string, string, time.Duration) (net.Conn, error) { return nil, errElsewhere }

// Listen implements wire.Client. Nothing can be put between the client and its tap.
func (c *tapped) Listen(server string, between func(wire.Dialer) wire.Dialer) (addr string, err error) {
	if between != nil {
		return "", errElsewhere
	}
	p, args := c.at()
	if p == nil {
		return "", fmt.Errorf("client %d: %w", c.number, errLost)
	}
	err = p.call("Listen", msg.ListenArgs{ClientArgs: args, Server: server}, &addr)
	return addr, err
}

// Record implements wire.Client: of a client elsewhere there is no transcript.
func (c *tapped) Record() *wire.Transcript { return &wire.Transcript{} }

// do has the agent do something to the client's connections. Of a client that lives nowhere
// there are none.
func (c *tapped) do(what string, args func(msg.ClientArgs) any, reply any) error {
	p, who := c.at()
	if p == nil {
		return fmt.Errorf("client %d: %w", c.number, errLost)
	}
	return p.call(what, args(who), reply)
}

// Hold implements wire.Client.
func (c *tapped) Hold(mode wire.HoldMode) error {
	return c.do("Hold", func(a msg.ClientArgs) any { return msg.HoldArgs{ClientArgs: a, Mode: mode} }, &msg.Nothing{})
}

// Thaw implements wire.Client.
func (c *tapped) Thaw() { _ = c.do("Thaw", func(a msg.ClientArgs) any { return a }, &msg.Nothing{}) }

// Gate implements wire.Client.
func (c *tapped) Gate(closed bool) {
	_ = c.do("Gate", func(a msg.ClientArgs) any { return msg.GateArgs{ClientArgs: a, Closed: closed} }, &msg.Nothing{})
}

// Cut implements wire.Client.
func (c *tapped) Cut() (n int) {
	_ = c.do("Cut", func(a msg.ClientArgs) any { return a }, &n)
	return n
}

// Arm implements wire.Client.
func (c *tapped) Arm(r wire.Rule) (wire.Shot, error) {
	c.trial.mu.Lock()
	c.trial.shots++
	n := c.trial.shots
	c.trial.mu.Unlock()
	p, args := c.at()
	if p == nil {
		return nil, fmt.Errorf("client %d: %w", c.number, errLost)
	}
	sent := r.Drawn()
	if err := p.call("Arm", msg.ArmArgs{ClientArgs: args, Shot: n, Rule: sent}, &msg.Nothing{}); err != nil {
		return nil, err
	}
	s := &shot{trial: c.trial, peer: p, args: msg.ShotArgs{Trial: args.Trial, Shot: n}, fired: make(chan wire.Proof, 1)}
	go s.watch(r)
	return s, nil
}

// shot is a rule in force at an agent.
type shot struct {
	trial *Trial
	peer  *peer
	args  msg.ShotArgs
	fired chan wire.Proof
}

// watch waits until the rule has hit, or is out of force.
func (s *shot) watch(r wire.Rule) {
	defer close(s.fired)
	var p msg.ShotProof
	if s.peer.await("Fired", s.args, &p) != nil || !p.Fired {
		return
	}
	p.Proof.Rule, p.Proof.Err = r, msg.FromWords(p.Err)
	p.Proof.Matched, _ = s.trial.instant(s.peer, p.Proof.Matched)
	p.Proof.Done, _ = s.trial.instant(s.peer, p.Proof.Done)
	s.fired <- p.Proof
}

// Fired implements wire.Shot.
func (s *shot) Fired() <-chan wire.Proof { return s.fired }

// Release implements wire.Shot.
func (s *shot) Release() { _ = s.peer.call("Release", s.args, &msg.Nothing{}) }

// Disarm implements wire.Shot.
func (s *shot) Disarm() (inTime bool) {
	_ = s.peer.call("Disarm", s.args, &inTime)
	return inTime
}
