package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
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
	entries, err := st.planned.Entries()
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

// Close waits until the ensemble has recovered. The error wraps errNotWhole if it does not.
func (f *faults) close() error {
	f.connections.stop()
	return errors.Join(f.left, f.recovery.wait())
}

// leaveOut removes from the cells, and returns, the faults that a built-in scenario does not need
// and the ensemble does not support; the scenario in the run folder is the scenario that is run. A phase
// that loses all its faults is removed. The rest is reported: a run that needs an unsupported fault
// cannot pass.
func (c Config) leaveOut(ctx context.Context, t chaos.Target, cells []spec.Cell) ([]report.LeftOut, error) {
	var out []report.LeftOut
	for i := range c.Scenario.Phases {
		out = append(out, c.lacking(ctx, t, i)...)
	}
	if len(out) == 0 {
		return nil, nil
	}
	less := map[*spec.Scenario]*spec.Scenario{}
	for i, cell := range cells {
		if less[cell.Scenario] == nil {
			less[cell.Scenario] = cell.Scenario.Without(out)
		}
		cells[i].Scenario = less[cell.Scenario]
	}
	return out, c.writeScenario(c.Scenario.Without(out))
}

// lacking returns the faults of a phase that the ensemble does not support, and the faults among them that
// the phase does not need.
func (c Config) lacking(ctx context.Context, t chaos.Target, phase int) (out []report.LeftOut) {
	p := &c.Scenario.Phases[phase]
	cannot := func(what string, err error) {
		c.Logf("phases.%d%s, and without it nothing can pass (exit %d): %s", phase, what, exitUnknown, reasonWithout(err))
	}
	for _, name := range p.FaultNames() {
		err := chaos.Lacking(ctx, name, t)
		switch {
		case err == nil:
		case p.CanOmit(name):
			out = append(out, report.LeftOut{Phase: p.Name, Fault: name, Why: reasonWithout(err)})
			c.Logf("omitted: %s of phase %s, not available here: %s", name, p.Name, reasonWithout(err))
		default:
			cannot(fmt.Sprintf(" (%s): %s is not available here", p.Name, name), err)
		}
	}
	if cause := causes[p.Cause]; cause != nil && p.Rounds > 0 {
		if err := cause.lacking(t.Ensemble); err != nil {
			cannot(fmt.Sprintf(" (%s) cannot run here", p.Name), err)
		}
	}
	for i, f := range p.Faults {
		if err := chaos.NoTarget(t.Ensemble, f.Target); err != nil {
			cannot(fmt.Sprintf(".faults.%d (%s of %s) has no target here", i, f.Fault, f.Target), err)
		}
	}
	return out
}

func reasonWithout(err error) string {
	return strings.TrimPrefix(err.Error(), chaos.ErrSkipped.Error()+": ")
}

const exitUnknown = 3

// unavailableCheck is the interval at which a trial checks that its ensemble can serve.
const unavailableCheck = time.Second

// unavailableLimit is the time for which no member may have served before the trial ends: sessions
// that an election of a leader interrupts are back within it.
func (st *stage) unavailableLimit() time.Duration { return 15*time.Second + st.scenario.SessionTimeout }

// watchEnsemble calls fail, with an error that names the members that are down, when the ensemble
// has been unable to serve for the limit while no fault that touches members was active. Members
// are queried only while no reply reaches the clients, so that a healthy ensemble has no extra load.
// It returns when ctx ends.
func (st *stage) watchEnsemble(ctx context.Context, fail func(error)) {
	served, replies := time.Now(), int64(-1)
	for pause(ctx, unavailableCheck) == nil {
		if now := st.tap.Totals().Replies; now != replies || st.memberFaults.Load() > 0 {
			served, replies = time.Now(), now
			continue
		}
		down := unavailable(ctx, st.members.ensemble)
		if down == "" {
			served = time.Now()
		} else if silent := time.Since(served); silent > st.unavailableLimit() && ctx.Err() == nil {
			fail(fmt.Errorf("%w: it could not serve for %v, without a fault of the scenario: %s", errNotWhole, silent.Round(time.Second), down))
			return
		}
	}
}

// unavailable describes the members that are down when too few are left for a quorum; else it
// returns "". A member that accepts connections and may not answer counts as serving.
func unavailable(ctx context.Context, e *ensembles.Ensemble) string {
	var down []string
	serving := 0
	for _, s := range ensembles.Status(ctx, e) {
		if s.Serves() || errors.Is(s.Err, ensembles.ErrNotWhitelisted) || errors.Is(s.Err, ensembles.ErrMute) {
			serving++
			continue
		}
		down = append(down, fmt.Sprintf("%s: %v", s.Member.Name, innermost(s.Err)))
	}
	if serving > 0 { // a member serves only while it has a quorum
		return ""
	}
	return strings.Join(down, ", ")
}

func innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

func (c Config) checkMembers() error {
	all, err := c.Scenario.Combinations()
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := c.missingMembers(one.Scenario); err != nil {
			return err
		}
	}
	return nil
}

// missingMembers returns an error for targeted members of a scenario without a matrix that are not
// in the ensemble.
func (c Config) missingMembers(s *spec.Scenario) error {
	names := memberNames(c.Ensemble)
	var missing []error
	for i, p := range s.Phases {
		for j, f := range p.Faults {
			if who := f.TargetMember(); who != "" && !slices.Contains(names, who) && !c.isAddress(who) {
				missing = append(missing, fmt.Errorf("phases.%d.faults.%d.target: %q is not a member; the members are %s", i, j, who, strings.Join(names, ", ")))
			}
		}
	}
	return errors.Join(missing...)
}

// isAddress reports whether who may be a member's client address; the addresses of our own members are
// unknown before they start.
func (c Config) isAddress(who string) bool {
	if c.external() {
		return slices.Contains(c.Ensemble.Servers, who)
	}
	return strings.Contains(who, ":")
}

func memberNames(o ensembles.Options) (names []string) {
	n := cmp.Or(o.Members, 3) + o.Observers
	if len(o.Servers) > 0 {
		n = len(o.Servers)
	}
	for i := range n {
		name := fmt.Sprintf("zk%d", i+1)
		if i < len(o.Terms.Commands) {
			name = cmp.Or(o.Terms.Commands[i].Name, name)
		}
		names = append(names, name)
	}
	return names
}
