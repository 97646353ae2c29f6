package agents

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
	"golang.org/x/sync/errgroup"
)

// Options configure a trial whose clients run on agents.
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

// Site returns the machine of client n's agent; see Fleet.home.
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
