package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

// trial is one cell of the matrix while it runs.
type trial struct {
	lab      *Lab
	scenario *Scenario
	cell     Cell
	name     string
	root     string // everything of ours in the tree is below it
	parent   string // the contested node
	rng      *rand.Rand

	clock   history.Clock
	record  *history.Writer
	tap     *wire.Tap
	clients []*client
	// producers put items into a queue, for the clients to take.
	producers []*client
	harness   *harness
	seat      *seat // among the trials beside which it runs

	plan     Plan
	faults   *faults // of the phase
	phase    Phase
	phaseNum int                     // index of phase in the scenario
	moments  atomic.Pointer[moments] // of the phase; nil where no fault is planned
	round    int
	pin      *pin                         // who holds now
	grants   atomic.Int64                 // grants had, or items taken
	items    atomic.Int64                 // of a queue: identities given so far
	putting  atomic.Int64                 // clients that may be putting, of those that put while they see the phase last
	fault    atomic.Pointer[chaos.Window] // in force now; nil

	shared  bool                          // other trials run on the ensemble at the same time: the members' counters are everybody's
	checked atomic.Int64                  // when a claim was last held against the tree
	dial    func(wire.Dialer) wire.Dialer // what lies between a client and its tap; nil for nothing

	telling telling
}

// run runs the trial from empty to empty: afterwards its sessions are closed and
// its part of the tree is gone, whatever happened.
func (t *trial) run(ctx context.Context) (err error) {
	if err := t.seat.take(ctx); err != nil {
		return err
	}
	defer t.seat.leave()
	t.clock = history.Start()
	t.pin = newPin()
	t.record, err = history.Create(filepath.Join(t.lab.Dir, "history", t.name+".jsonl.zst"), history.Header{
		Trial: t.name, Repetition: t.cell.Trial, Seed: t.lab.Seed,
		Cell: history.Cell{
			Scenario: t.scenario.Name, Subject: t.cell.Subject.Name, Clients: t.cell.Clients, Params: t.params(),
			Base: t.scenario.Base, Provocation: t.cell.Provocation,
		},
		Thresholds: t.scenario.Thresholds, Formulas: t.cell.Subject.Formulas.Text, Expect: t.cell.Caught,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	defer func() { err = errors.Join(err, t.record.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-t.record.Broken():
			cancel(fmt.Errorf("%w: %w", errBroken, t.record.Err()))
		case <-ctx.Done():
		}
	}()
	t.tap = wire.New(t.clock.Now)
	t.tap.OnEvent(t.heard)
	watch := watchSelf(t.record, t.scenario.Limits.within(t.scenario.SessionTimeout))
	defer watch.stop(t.clock.Now)

	t.harness, err = openHarness(ctx, t)
	if err != nil {
		return cause(ctx, err)
	}
	defer t.harness.close()
	defer t.closeClients()
	if err := t.openClients(ctx); err != nil {
		return cause(ctx, err)
	}
	for i, p := range t.scenario.Phases {
		t.phaseNum = i
		if err := t.runPhase(ctx, p); err != nil {
			return cause(ctx, fmt.Errorf("phase %s: %w", p.Name, err))
		}
	}
	return nil
}

// cause prefers the reason for which ctx was cancelled to what it led to.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	return err
}

func (t *trial) runPhase(ctx context.Context, p Phase) (err error) {
	if err := t.suited(p); err != nil {
		return err
	}
	t.phase, t.round = p, 0
	t.record.Record(&history.PhaseStart{At: t.clock.Now(), Name: p.Name, Index: t.phaseNum, Kind: p.Kind, Pace: p.pace()})
	defer func() {
		t.record.Record(&history.PhaseEnd{At: t.clock.Now(), Name: p.Name, Index: t.phaseNum})
	}()
	if t.faults, err = t.arm(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.faults.over()) }()
	if err := t.rejoin(ctx); err != nil {
		return err
	}
	queue := t.queue()
	switch {
	case p.Kind == Provoke:
		return t.provoke(ctx)
	case p.Kind == Failover:
		return t.failover(ctx)
	case p.Kind == Succession:
		return t.succession(ctx)
	case p.Kind == Flap:
		return t.flap(ctx)
	case p.Kind == Stream:
		return t.stream(ctx)
	case p.Kind == Drain && queue:
		return t.deliver(ctx)
	case p.Kind == Drain:
		return t.drain(ctx)
	case queue:
		return t.exchange(ctx)
	}
	return t.churn(ctx)
}

// openClients opens all clients, some at a time: a herd of connects is not what is
// measured here.
func (t *trial) openClients(ctx context.Context) error {
	t.tell("opening sessions", "")
	t.clients = make([]*client, t.cell.Clients)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range t.clients {
		t.clients[i] = newClient(t, i)
		g.Go(func() error { return t.clients[i].open(ctx) })
	}
	return g.Wait()
}

// rejoin brings back the clients that were about to open a new session when the
// phase before ended.
func (t *trial) rejoin(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, c := range slices.Concat(t.clients, t.producers) {
		if !c.opened() {
			g.Go(func() error { return c.reopen(ctx) })
		}
	}
	return g.Wait()
}

func (t *trial) closeClients() {
	var g errgroup.Group
	g.SetLimit(64)
	for _, c := range slices.Concat(t.clients, t.producers) {
		if c != nil {
			g.Go(func() error { c.close(); return nil })
		}
	}
	g.Wait()
}

// pace is who decides when the clients of the phase act.
func (p *Phase) pace() history.Pace {
	switch p.Kind {
	case Churn:
		return history.ByClients
	case Stream:
		return history.ByRate
	}
	return history.ByHarness
}
