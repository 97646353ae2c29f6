package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/report/history"
)

// faults plays faults on clients and members, observes how the ensemble recovers, and
// records all of it.
type faults struct {
	st          *stage
	entries     []chaos.Entry
	seed        uint64
	moments     *moments
	recovery    *recovery
	connections *connections
	inForce     chan struct{} // gets one for each fault that is in force, or failed
	left        error         // why one may still be in force

	slow    map[string]int // by name: faults that take as long as they take, and are not done
	settled chan struct{}  // closed when none is left
}

// newFaults prepares faults. close must be called. ctx is the trial's, which outlives the
// phase.
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

// settle notes that a fault is in force, or has failed. A phase waits for those that are played
// once and take their time: a rolling restart, an upgrade, a session that runs out.
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

// prepareFaults prepares those of the phase, which may wait for events.
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

// play plays the faults, and returns when every one is healed. That a fault could not be
// had or proven is recorded with it, and judged afterwards; that one may still be in force
// is an error of close.
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
		f.left = fmt.Errorf("%w: a fault may still be in force: %w", errNotWhole, err)
	}
}

// inject plays one fault that needs no healing, by its name in the catalogue. The error is
// recorded with it.
func (st *stage) inject(ctx context.Context, name, target string, params map[string]string) error {
	fault, err := chaos.Parse(name, target, params)
	if err != nil {
		return err
	}
	plan := chaos.Plan{Entries: []chaos.Entry{{Fault: fault}}, Seed: st.planned.Seed, Now: st.clock.Now, Healed: st.recordFault}
	return plan.Play(ctx, st.target(func(bool) int { return -1 }))
}

// injected is called with each fault once it is in force.
func (f *faults) injected(p chaos.Window) {
	f.st.status.fault.Store(&p)
	f.st.holder.free()
	f.recovery.injected(p)
	f.counted()
	f.settle(p)
}

// played is called with each fault that is over.
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

// recordFault records a fault that is over.
func (st *stage) recordFault(p chaos.Window) {
	w := &history.Window{Fault: p.Fault, Target: p.Target, Client: p.Client, Served: p.Served, Start: p.Start, End: p.End,
		Proof: p.Proof, CutShort: p.CutShort}
	if p.Err != nil {
		w.Err = p.Err.Error()
	}
	st.record.Record(w)
}

// counted says that a fault is in force, or has failed.
func (f *faults) counted() {
	select {
	case f.inForce <- struct{}{}:
	default: // enough
	}
}

// proven returns when every fault is in force, has failed, or is over.
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

// close returns when the ensemble has recovered. The error wraps errNotWhole where it is
// not as it was.
func (f *faults) close() error {
	f.connections.stop()
	return errors.Join(f.left, f.recovery.wait())
}
