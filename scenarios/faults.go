package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/report/history"
)

// faults injects faults into clients and members, observes the ensemble's recovery, and records
// both.
type faults struct {
	st          *stage
	entries     []chaos.Entry
	seed        uint64
	moments     *moments
	recovery    *recovery
	connections *connections
	inForce     chan struct{} // receives a value for each fault that is active or failed
	left        error

	slow    map[string]int // by name: faults of open duration that are not over
	settled chan struct{}  // closed when slow is empty
}

// newFaults prepares faults. close must be called. ctx is the trial's, which outlasts the phase.
func (st *stage) newFaults(ctx context.Context, entries []chaos.Entry, seed uint64) *faults {
	f := &faults{
		st: st, entries: entries, seed: seed, moments: &moments{}, recovery: newRecovery(ctx, st),
		inForce: make(chan struct{}, 2*len(entries)), slow: map[string]int{}, settled: make(chan struct{}),
	}
	for _, e := range entries {
		if e.For == 0 && e.Every == 0 && len(e.Gaps) == 0 && e.On == "" && chaos.TakesItsTime(e.Fault.String()) {
			f.slow[e.Fault.String()]++
		}
	}
	if len(f.slow) == 0 {
		close(f.settled)
	}
	return f
}

// settle records that a fault is active or failed. A phase waits for faults of open duration that
// are injected once: a rolling restart, an upgrade, a session expiry.
func (f *faults) settle(p chaos.Window) {
	n, slow := f.slow[p.Fault]
	if !slow {
		return
	}
	if f.slow[p.Fault]--; n == 1 {
		delete(f.slow, p.Fault)
	}
	if len(f.slow) == 0 {
		close(f.settled)
	}
}

// prepareFaults prepares the faults of the phase, which may wait for events.
func (st *stage) prepareFaults(ctx context.Context) error {
	entries, err := st.planned.entries()
	st.faults = st.newFaults(ctx, entries, st.planned.Seed)
	if err != nil || len(entries) == 0 {
		return err
	}
	st.faults.moments = newMoments(st.planned.Faults, len(st.clients))
	st.events.Store(st.faults.moments)
	st.faults.connections = st.countConnections(ctx)
	return nil
}

// play injects the faults, and returns when all are healed. A fault that was unavailable or not
// proven is recorded and evaluated later; close returns an error if a fault may still be active.
func (f *faults) play(ctx context.Context, holder func(stay bool) int) {
	if len(f.entries) == 0 {
		return
	}
	if f.st.queue() {
		holder = nil
	}
	err := chaos.Plan{
		Entries: f.entries, Seed: f.seed, Now: f.st.clock.Now, Events: &f.moments.Events,
		Injecting: f.connections.begin, Healed: f.played, Injected: f.injected,
	}.Play(ctx, f.st.target(holder))
	if errors.Is(err, chaos.ErrNotHealed) {
		f.left = fmt.Errorf("%w: a fault may still be active: %w", errNotWhole, err)
	}
}

// inject injects one fault that needs no healing, by its name. The error is recorded with it.
func (st *stage) inject(ctx context.Context, name, target string, params map[string]string) error {
	fault, err := chaos.Parse(name, target, params)
	if err != nil {
		return err
	}
	plan := chaos.Plan{Entries: []chaos.Entry{{Fault: fault}}, Seed: st.planned.Seed, Now: st.clock.Now, Healed: st.recordFault}
	return plan.Play(ctx, st.target(func(bool) int { return -1 }))
}

// injected is called when a fault is active.
func (f *faults) injected(p chaos.Window) {
	f.st.status.fault.Store(&p)
	f.st.holder.free()
	f.recovery.injected(p)
	f.counted()
	f.settle(p)
}

func (f *faults) played(p chaos.Window) {
	f.st.recordFault(p)
	f.st.holder.free()
	f.st.status.fault.Store(nil)
	f.recovery.healed(p)
	if p.Err != nil {
		f.counted()
		f.settle(p)
	}
}

func (st *stage) recordFault(p chaos.Window) {
	w := &history.Window{Fault: p.Fault, Target: p.Target, Client: p.Client, Served: p.Served, Start: p.Start, End: p.End,
		Proof: p.Proof, CutShort: p.CutShort}
	if p.Err != nil {
		w.Err = p.Err.Error()
	}
	st.record.Record(w)
}

// counted signals that a fault is active or failed.
func (f *faults) counted() {
	select {
	case f.inForce <- struct{}{}:
	default:
	}
}

// proven waits until every fault is active, failed or over.
func (f *faults) proven(ctx context.Context, over <-chan struct{}) {
	for range f.entries {
		select {
		case <-f.inForce:
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// close waits until the ensemble has recovered. The error wraps errNotWhole if it does not.
func (f *faults) close() error {
	f.connections.stop()
	return errors.Join(f.left, f.recovery.wait())
}
