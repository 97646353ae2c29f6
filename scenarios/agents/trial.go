package agents

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
	"golang.org/x/sync/errgroup"
)

type Options struct {
	Trial    string
	Parent   string                        // the contested node
	At       func(time.Time) time.Duration // converts to the trial's clock
	Upstream wire.Upstream                 // dials the servers
	// Relay makes agents reach the servers through the coordinator, which dials with Way. It is for agents
	// that cannot reach the servers directly, or would need certificates.
	Relay bool
	// Event is called with the session events of the clients, in order for each agent. Lost is
	// called when an agent is lost, with its clients and the time of its last message.
	Event func(wire.Event)
	Lost  func(agent string, clients []int, since time.Duration)
}

// Trial provides the taps of all clients of a trial that runs on a fleet.
type Trial struct {
	fleet   *Fleet
	options Options
	reading sync.WaitGroup // of events

	mu      sync.Mutex
	clients map[int]*agentClient
	streams map[*peer]*eventStream
}

// Begin starts a trial on all connected agents. Close must be called once, unless there is an error.
func (f *Fleet) Begin(o Options) (*Trial, error) {
	t := &Trial{fleet: f, options: o, clients: map[int]*agentClient{}, streams: map[*peer]*eventStream{}}
	peers := f.alive()
	if len(peers) == 0 {
		return nil, errors.New("no agent is connected")
	}
	var all errgroup.Group
	for _, p := range peers {
		all.Go(func() error { return t.ensureBegun(p) })
	}
	if err := all.Wait(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Trial) ensureBegun(p *peer) error {
	t.mu.Lock()
	h := t.streams[p]
	if h == nil {
		h = &eventStream{}
		h.changed.L = &h.mu
		t.streams[p] = h
	}
	t.mu.Unlock()
	h.once.Do(func() { h.err = t.begin(p, h) })
	return h.err
}

func (t *Trial) begin(p *peer, h *eventStream) error {
	p.mu.Lock()
	p.trials[t.options.Trial] = t
	p.mu.Unlock()
	a := msg.TrialArgs{Trial: t.options.Trial, Parent: t.options.Parent, Digest: t.options.Upstream.Digest, Relay: t.options.Relay}
	if err := p.call("Begin", a, nil); err != nil {
		return err
	}
	events, err := open(p.link, msg.Opening{Kind: msg.StreamEvents, Trial: t.options.Trial})
	if err != nil {
		return fmt.Errorf("agent %s: %w: %w", p.name, errLost, err)
	}
	t.reading.Go(func() {
		defer events.Close()
		in := gob.NewDecoder(events)
		for {
			var e msg.WireEvent
			if in.Decode(&e) != nil {
				h.change(func() { h.ended = true })
				return
			}
			t.event(p, e)
			h.change(func() { h.count++ })
		}
	})
	return nil
}

// event delivers an event. An event that ends a belief counts from its earliest possible time.
func (t *Trial) event(p *peer, e msg.WireEvent) {
	at, maxError := t.instant(p, e.At)
	if e.Kind == wire.Deadline || e.Kind == wire.Expired {
		at -= maxError
	}
	e.Event.At, e.Event.Err = at, msg.ErrorOf(e.Why)
	e.Event.Lost, _ = t.instant(p, e.Event.Lost)
	e.Event.Request.Sent, _ = t.instant(p, e.Event.Request.Sent)
	t.options.Event(e.Event)
}

// instant converts an agent's time to the trial's clock, with its possible error. 0 means never.
func (t *Trial) instant(p *peer, at time.Duration) (local, maxError time.Duration) {
	if at == 0 {
		return 0, 0
	}
	when, maxError := p.clock.At(int64(at))
	return max(t.options.At(when), 1), maxError
}

type eventStream struct {
	once sync.Once
	err  error

	mu      sync.Mutex
	count   int64 // events delivered
	ended   bool
	changed sync.Cond // of count or ended
}

func (h *eventStream) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.changed.Broadcast()
}

// wait returns when n events have been delivered, or the stream has ended.
func (h *eventStream) wait(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.count < n && !h.ended {
		h.changed.Wait()
	}
}

// Client returns the tap of client n, always the same for the same n.
func (t *Trial) Client(n int) wire.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.clients[n]
	if c == nil {
		args := msg.ClientArgs{Trial: t.options.Trial, Client: n}
		c = &agentClient{trial: t, args: args, countsByPeer: map[*peer]*wire.Counts{}}
		t.clients[n] = c
	}
	return c
}

func (t *Trial) Site(n int) (site.Site, error) {
	p := t.fleet.home(n)
	if p == nil {
		return nil, errors.New("no agent is connected")
	}
	if err := t.ensureBegun(p); err != nil {
		return nil, err
	}
	t.Client(n).(*agentClient).move(p)
	return p, nil
}

func (t *Trial) all() []*agentClient {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.clients))
}

// Totals returns the sum of all clients' counts. The counts of lost agents are the last known counts.
func (t *Trial) Totals() (sum wire.Counts) {
	t.mu.Lock()
	streams := maps.Clone(t.streams)
	t.mu.Unlock()
	for p := range streams {
		var here wire.Counts
		if p.call("Totals", t.options.Trial, &here) == nil {
			sum = sum.Add(here)
			continue
		}
		for _, c := range t.all() {
			sum = sum.Add(c.countsOn(p))
		}
	}
	return sum
}

// WatchDeadlines does nothing: agents watch deadlines themselves.
func (t *Trial) WatchDeadlines(context.Context) {}

func (t *Trial) removePeer(p *peer) {
	var clients []int
	for _, c := range t.all() {
		if c.removePeer(p) {
			clients = append(clients, c.Number())
		}
	}
	slices.Sort(clients)
	if len(clients) > 0 && t.options.Lost != nil {
		t.options.Lost(p.name, clients, max(0, t.options.At(p.lastSeenAt)))
	}
}

// Close ends the trial on all agents, and returns when all events have arrived.
func (t *Trial) Close() {
	t.mu.Lock()
	streams := maps.Clone(t.streams)
	t.mu.Unlock()
	var all sync.WaitGroup
	for p := range streams {
		all.Go(func() {
			_ = p.call("End", t.options.Trial, nil)
			p.mu.Lock()
			delete(p.trials, t.options.Trial)
			p.mu.Unlock()
		})
	}
	all.Wait()
	t.reading.Wait()
}

// ClockError returns the largest possible clock error of an agent now.
func (t *Trial) ClockError() (worst time.Duration) {
	for _, p := range t.fleet.alive() {
		worst = max(worst, p.clockError())
	}
	return worst
}

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

func (c *agentClient) do(what string, args, reply any) error {
	p := c.currentPeer()
	if p == nil {
		return c.errNoAgent()
	}
	return p.call(what, args, reply)
}

func (c *agentClient) errNoAgent() error { return fmt.Errorf("client %d: %w", c.Number(), errLost) }

func (c *agentClient) Hold() error { return c.do("Hold", c.args, nil) }
func (c *agentClient) EndHold()    { _ = c.do("EndHold", c.args, nil) }

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
func (a *armedRule) Release()                 { _ = a.peer.call("Release", a.args, nil) }

func (a *armedRule) Disarm() (inTime bool) {
	_ = a.peer.call("Disarm", a.args, &inTime)
	return inTime
}
