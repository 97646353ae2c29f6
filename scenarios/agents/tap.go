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

// agentClient is the tap of a client on an agent. It returns the last known state if the agent does not answer.
type agentClient struct {
	trial *Trial
	args  msg.ClientArgs // of calls

	mu           sync.Mutex
	peer         *peer                  // the client's agent; nil before its first opening
	last         msg.ClientState        // last known state, on the trial's clock
	countsByPeer map[*peer]*wire.Counts // last known counts, by each present or past agent of the client
	asked        int64                  // number of requests for the tap's state
	newestReply  int64                  // the newest of their replies in last and lived
}

func (c *agentClient) move(to *peer) {
	if c.currentPeer() == to {
		return
	}
	c.refresh() // read the counts of the old agent
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peer = to
}

func (c *agentClient) removePeer(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer != p {
		return false
	}
	c.peer, c.last.Session.Server = nil, ""
	return true
}

func (c *agentClient) countsOn(p *peer) wire.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.countsOnLocked(p)
}

// countsOnLocked is countsOn with c.mu held. Only the client's current agent has requests in flight.
func (c *agentClient) countsOnLocked(p *peer) (n wire.Counts) {
	if seen := c.countsByPeer[p]; seen != nil {
		n = *seen
	}
	if p != c.peer || p.isLost() {
		n.InFlight, n.Pinging, n.Queued = 0, 0, 0
	}
	return n
}

func (c *agentClient) currentPeer() *peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer
}

// refresh reads the tap's state from the agent. All earlier events have been delivered when it returns.
func (c *agentClient) refresh() msg.ClientState {
	c.mu.Lock()
	c.asked++
	n, p := c.asked, c.peer
	c.mu.Unlock()
	var s msg.ClientState
	if p != nil && p.call("State", c.args, &s) == nil {
		c.trial.mu.Lock()
		h := c.trial.streams[p]
		c.trial.mu.Unlock()
		h.wait(s.Events)
		c.trial.toTrialClock(p, &s)
		c.store(n, p, s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// store stores a reply, unless the reply of a later request came first.
func (c *agentClient) store(n int64, p *peer, s msg.ClientState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n < c.newestReply {
		return
	}
	c.newestReply, c.countsByPeer[p] = n, &s.Counts
	if c.peer == p {
		c.last = s
	}
}

// toTrialClock converts a state to the trial's clock. The clock's possible error makes a deadline earlier.
func (t *Trial) toTrialClock(p *peer, s *msg.ClientState) {
	acked, maxError := t.instant(p, s.Session.LastAckSent)
	s.Session.LastAckSent = acked - maxError
	s.Session = s.Session.WithUpstream(t.options.Upstream)
	for _, at := range []*time.Duration{&s.Known.RemovedAt, &s.Known.ChangedAt,
		&s.Moments.Changed, &s.Moments.Applied, &s.Moments.Notified, &s.Moments.Asked, &s.Moments.Answered} {
		*at, _ = t.instant(p, *at)
	}
}

func (c *agentClient) Number() int           { return c.args.Client }
func (c *agentClient) Session() wire.Session { return c.refresh().Session }
func (c *agentClient) Known() wire.Known     { return c.refresh().Known }
func (c *agentClient) Unanswered() int64     { return c.refresh().Unanswered }
func (c *agentClient) Moments() wire.Moments { return c.refresh().Moments }

// Counts returns the sum over all agents of the client; of a lost agent, the last known counts.
func (c *agentClient) Counts() (sum wire.Counts) {
	c.refresh()
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.countsByPeer {
		sum = sum.Add(c.countsOnLocked(p))
	}
	return sum
}

// Node implements wire.Client, below the contested node.
func (c *agentClient) Node(path string) (wire.Node, bool) {
	if path != c.trial.options.Parent {
		return wire.Node{}, false
	}
	s := c.refresh()
	return s.Node, s.HasNode
}

// errOnAgent is returned by operations that need the client in this process.
var errOnAgent = errors.New("not available for a client that runs on an agent")

// Dial implements wire.Client. It fails, because the agent dials for the client.
func (c *agentClient) Dial(string, string, time.Duration) (net.Conn, error) { return nil, errOnAgent }

// Listen implements wire.Client. between must be nil.
func (c *agentClient) Listen(server string, between func(wire.Dialer) wire.Dialer) (addr string, err error) {
	if between != nil {
		return "", errOnAgent
	}
	err = c.do("Listen", msg.ListenArgs{ClientArgs: c.args, Server: server}, &addr)
	return addr, err
}

// Record implements wire.Client: there is no transcript of a client on an agent.
func (c *agentClient) Record() *wire.Transcript { return &wire.Transcript{} }

// do makes a call about the client's connections. It fails if the client has no agent.
func (c *agentClient) do(what string, args, reply any) error {
	p := c.currentPeer()
	if p == nil {
		return c.errNoAgent()
	}
	return p.call(what, args, reply)
}

func (c *agentClient) errNoAgent() error { return fmt.Errorf("client %d: %w", c.Number(), errLost) }

func (c *agentClient) Hold() error { return c.do("Hold", c.args, nil) }

func (c *agentClient) EndHold() { _ = c.do("EndHold", c.args, nil) }

func (c *agentClient) SetGateClosed(closed bool) {
	_ = c.do("SetGateClosed", msg.GateArgs{ClientArgs: c.args, Closed: closed}, nil)
}

func (c *agentClient) Cut() (n int) {
	_ = c.do("Cut", c.args, &n)
	return n
}

func (c *agentClient) Arm(r wire.Rule) (wire.ArmedRule, error) {
	p := c.currentPeer()
	if p == nil {
		return nil, c.errNoAgent()
	}
	a := &armedRule{trial: c.trial, peer: p, args: msg.RuleArgs{Trial: c.args.Trial}, fired: make(chan wire.Proof, 1)}
	if err := p.call("Arm", msg.ArmArgs{ClientArgs: c.args, Rule: r}, &a.args.Number); err != nil {
		return nil, err
	}
	go a.watch(r)
	return a, nil
}

type armedRule struct {
	trial *Trial
	peer  *peer
	args  msg.RuleArgs
	fired chan wire.Proof
}

// watch waits until the rule has matched or is disarmed.
func (a *armedRule) watch(r wire.Rule) {
	defer close(a.fired)
	var p msg.RuleProof
	if a.peer.await("Fired", a.args, &p, nil) != nil || !p.Fired {
		return
	}
	p.Proof.Rule, p.Proof.Err = r, msg.ErrorOf(p.Err)
	p.Proof.Matched, _ = a.trial.instant(a.peer, p.Proof.Matched)
	p.Proof.Done, _ = a.trial.instant(a.peer, p.Proof.Done)
	a.fired <- p.Proof
}

func (a *armedRule) Fired() <-chan wire.Proof { return a.fired }

func (a *armedRule) Release() { _ = a.peer.call("Release", a.args, nil) }

func (a *armedRule) Disarm() (inTime bool) {
	_ = a.peer.call("Disarm", a.args, &inTime)
	return inTime
}
