package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// trial is one cell of the matrix while it runs: what its phases may not touch.
type trial struct {
	runner *runner
	name   string
	plan   plan
	seat   *seat // among the trials that take turns with it
	stage  *stage
}

// errBroken says that the history could not be written.
var errBroken = errors.New("the history cannot be written")

// run runs the trial from empty to empty: afterwards its sessions are closed and
// its part of the tree is gone, whatever happened.
func (t *trial) run(ctx context.Context) (err error) {
	if err := t.seat.take(ctx); err != nil {
		return err
	}
	defer t.seat.leave()
	st := t.stage
	st.clock = history.Start()
	st.record, err = history.Create(report.HistoryPath(t.runner.dir, t.name), t.header())
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	defer func() { err = errors.Join(err, st.record.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-st.record.Broken():
			cancel(fmt.Errorf("%w: %w", errBroken, st.record.Err()))
		case <-ctx.Done():
		}
	}()
	after, err := st.members.lastZxid(ctx)
	if err != nil {
		return reason(ctx, err)
	}
	defer func() { err = errors.Join(err, t.saveCommits(after)) }()
	st.tap = wire.New(st.clock.Now)
	st.tap.OnEvent(st.recordSession)
	watch := watchSelf(st.record, st.scenario.Limits.within(st.scenario.SessionTimeout))
	defer watch.stop(st.clock.Now)

	defer func() { _ = st.observer.close() }() // the runner removes what is left, or says why it cannot
	if err := errors.Join(st.observer.open(ctx, st.parent), st.fence.open(ctx)); err != nil {
		return reason(ctx, err)
	}
	defer st.closeClients()
	if err := st.openClients(ctx); err != nil {
		return reason(ctx, err)
	}
	for i, p := range st.scenario.Phases {
		st.phase, st.planned = p, t.plan.Phases[i]
		if err := t.runPhase(ctx, i); err != nil {
			return reason(ctx, fmt.Errorf("phase %s: %w", p.Name, err))
		}
	}
	return nil
}

// header is the history's.
func (t *trial) header() history.Header {
	c := t.stage.cell
	s := c.Scenario
	return history.Header{
		Trial: t.name, Repetition: c.Trial, Seed: t.runner.seed,
		Cell: history.Cell{
			Scenario: s.Name, Subject: c.Subject.Name, Clients: c.Clients, Params: c.params(),
			Base: s.Base, Provocation: c.Provocation,
		},
		Thresholds: s.Thresholds, Formulas: c.Subject.Formulas.Text, Expect: c.Caught,
	}
}

// reason prefers the reason for which ctx was cancelled to what it led to.
func reason(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	return err
}

// runPhase runs the i-th phase.
func (t *trial) runPhase(ctx context.Context, i int) (err error) {
	st := t.stage
	p, k := st.phase, kindNamed(st.phase.Kind)
	if err := k.suits(st.cell.Subject); err != nil {
		return err
	}
	st.round = 0
	st.record.Record(&history.PhaseStart{At: st.clock.Now(), Name: p.Name, Index: i, Kind: p.Kind, Pace: k.pace, Params: p.params()})
	defer func() {
		st.record.Record(&history.PhaseEnd{At: st.clock.Now(), Name: p.Name, Index: i})
	}()
	if err := st.prepareFaults(ctx); err != nil {
		return err
	}
	defer func() {
		st.events.Store(nil)
		err = errors.Join(err, st.faults.close())
	}()
	if err := st.rejoin(ctx); err != nil {
		return err
	}
	before := st.efforts()
	defer func() { st.recordEfforts(before) }()
	return k.run(ctx, st)
}

// recordSession records what the wire shows of sessions: a new one, whoever opened it,
// and the servers' word that one is gone.
func (st *stage) recordSession(e wire.Event) {
	switch {
	case e.Kind == wire.Connected && !e.Resumed:
		st.sessions.add(e.Session)
		st.record.Record(&history.Session{At: e.At, Event: history.Opened, Client: e.Client, Session: e.Session, Timeout: e.Timeout})
	case e.Kind == wire.Expired:
		st.record.Record(&history.Session{At: e.At, Event: history.Expired, Client: e.Client, Session: e.Session})
	}
}
