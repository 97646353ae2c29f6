package scenarios

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

// faults is a phase's plan, armed: its events are watched for, what it does to the
// members is watched over, and everything goes into the record.
type faults struct {
	t        *trial
	entries  []chaos.Entry
	seed     uint64
	moments  *moments
	recovery *recovery
	settled  chan struct{} // gets one for each fault that is in force, or failed; nil: nobody asks
	counted  *connections  // nil: nobody asks
}

// arm prepares the present phase's plan; over must be called at its end. ctx is the
// trial's, which outlives the phase.
func (t *trial) arm(ctx context.Context) (*faults, error) {
	p := t.plan.Phases[t.phaseNum]
	entries, err := p.entries()
	if err != nil {
		return nil, err
	}
	f := &faults{t: t, entries: entries, seed: p.Seed}
	if len(entries) == 0 {
		return f, nil
	}
	f.moments = newMoments(p.Faults, len(t.clients))
	t.moments.Store(f.moments)
	f.recovery = newRecovery(ctx, t)
	f.counted = t.countConnections(ctx)
	return f, nil
}

// play plays the plan, and returns when every fault is healed. That a fault could
// not be had or proven is recorded with it, and judged afterwards.
func (f *faults) play(ctx context.Context, holder func() int) {
	if len(f.entries) == 0 {
		return
	}
	_ = chaos.Plan{
		Entries: f.entries, Seed: f.seed, Now: f.t.clock.Now, Events: &f.moments.Events,
		Injecting: f.counted.begin, Healed: f.played, Injected: f.injected,
	}.Play(ctx, f.t.target(holder))
}

// strike plays the present phase's plan while its clients are at work.
func (t *trial) strike(phase context.Context) error {
	t.faults.play(phase, t.pin.aim)
	return nil
}

// target is what faults act on, with what tells them who holds.
func (t *trial) target(holder func() int) chaos.Target {
	taps := make([]*wire.Client, len(t.clients))
	for i, c := range t.clients {
		taps[i] = c.wire
	}
	if t.queue() {
		holder = nil
	}
	return chaos.Target{Ensemble: t.lab.Ensemble, Network: t.lab.Network, Clients: taps, Holder: holder}
}

// injected is told of each fault once it is in force.
func (f *faults) injected(p chaos.Window) {
	f.t.fault.Store(&p)
	f.t.pin.free()
	f.recovery.injected(p)
	f.settle()
}

// played is told of each fault that is over.
func (f *faults) played(p chaos.Window) {
	f.t.played(p)
	f.recovery.healed(p)
	if p.Err != nil {
		f.settle()
	}
}

// played records a fault that is over.
func (t *trial) played(p chaos.Window) {
	w := &history.Window{Fault: p.Fault, Target: p.Target, Client: p.Client, Served: p.Served, Start: p.Start, End: p.End, Proof: p.Proof}
	if p.Err != nil {
		w.Err = p.Err.Error()
	}
	t.record.Record(w)
	t.pin.free()
	t.fault.Store(nil)
}

func (f *faults) settle() {
	select {
	case f.settled <- struct{}{}:
	default: // nobody asks, or enough
	}
}

// proven returns when every fault is in force, has failed, or is over.
func (f *faults) proven(ctx context.Context, over <-chan struct{}) {
	for range f.entries {
		select {
		case <-f.settled:
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// over ends the phase's plan: it returns when the ensemble has recovered from it.
func (f *faults) over() error {
	f.counted.stop()
	f.t.moments.Store(nil)
	return f.recovery.wait()
}

// MemberFaults returns the faults of the phase that touch members, which an
// ensemble of somebody else's cannot have.
func (p *Phase) MemberFaults() []string {
	var names []string
	for _, f := range p.Faults {
		names = append(names, f.Fault)
	}
	if p.Kind == Failover && p.Rounds > 0 {
		names = append(names, causes[p.Cause].faults...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !chaos.TouchesMembers(name) })
}
