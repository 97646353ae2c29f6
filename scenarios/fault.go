package scenarios

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
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

// Fault is an entry of a phase's fault schedule. It is injected once, or repeatedly:
//
//	{at: 2s, fault: session.close, target: holder}
//	{at: 1s, every: 2s, jitter: 1s, fault: session.flap, target: random}
//	{on: client 3 holds, at: 50ms, fault: session.expire, target: "3"}
//	{on: 50% wait, fault: partition.isolate, target: leader, for: 3s}
//
// Entries are independent of each other; faults overlap if their times do.
type Fault struct {
	At    time.Duration `yaml:"at"`              // after the start of the phase, or after the event
	On    string        `yaml:"on,omitempty"`    // the event that At counts from (see parseEvent)
	Every time.Duration `yaml:"every,omitempty"` // time from one start to the next, which waits until the fault is healed
	Times int           `yaml:"times,omitempty"` // the maximum number of repetitions; 0: until the phase ends
	// Jitter moves At and each Every by up to that much either way, decided by the seed.
	Jitter time.Duration     `yaml:"jitter,omitempty"`
	Fault  string            `yaml:"fault"`            // a name from zkbench list faults
	Target string            `yaml:"target,omitempty"` // the target: holder, leader, a client's number, a member's name; "" is the fault's default
	For    time.Duration     `yaml:"for,omitempty"`    // until it is healed; 0: to the end of the phase
	Params map[string]string `yaml:"params,omitempty"` // parameters of the fault (zkbench list faults)
	// Essential means that the scenario's question cannot be answered without the fault. A built-in
	// scenario leaves out, and reports, a fault that is not essential and not available on this
	// machine. A fault that the user requests (a file, --set, --replay) is always essential.
	Essential bool `yaml:"essential,omitempty"`

	builtin bool // part of a built-in scenario, not requested by the user
}

func (f Fault) validate(bad problemFunc, phase time.Duration) {
	if _, err := chaos.Parse(f.Fault, "", nil); err != nil {
		bad("fault", "%v", suggest(err))
	} else if _, err := chaos.Parse(f.Fault, f.Target, nil); err != nil {
		bad("target", "%v", suggest(err))
	} else if _, err := chaos.Parse(f.Fault, f.Target, f.Params); err != nil {
		bad("params", "%v", suggest(err))
	}
	if f.At < 0 || f.At > phase {
		bad("at", "%v is not within the phase (0 to %v)", f.At, phase)
	} else if f.For < 0 || f.At+f.For > phase {
		bad("for", "%v after %v is not within the phase (0 to %v): the fault must be healed before it ends", f.For, f.At, phase)
	}
	if _, err := parseEvent(f.On); err != nil {
		bad("on", "%v", err)
	}
	if f.Every < 0 || f.Every > 0 && f.Every < minEvery {
		bad("every", "%v is less than %v", f.Every, minEvery)
	}
	between(bad, "times", f.Times, 0, maxRounds)
	if f.Times > 0 && f.Every == 0 {
		bad("times", "requires every")
	}
	longest := f.At
	if f.Every > 0 {
		longest = f.Every
	}
	if longest = max(longest, 0); f.Jitter < 0 || f.Jitter > longest {
		bad("jitter", "%v is not between 0 and %v, which it varies", f.Jitter, longest)
	}
	if f.At+f.Jitter+f.For > phase && f.Jitter > 0 {
		bad("jitter", "%v after %v is not within the phase (0 to %v)", f.Jitter, f.At, phase)
	}
}

// suggest replaces the list of names in an error about an unknown name by the nearest name.
func suggest(err error) string {
	var unknown *chaos.UnknownError
	if !errors.As(err, &unknown) || len(unknown.Known) == 0 {
		return err.Error()
	}
	return strings.Replace(err.Error(), unknown.Error(), unknown.Problem+units.Nearest(unknown.Name, unknown.Known), 1)
}

// minEvery bounds how many repetitions a plan can have.
const minEvery = 10 * time.Millisecond

// isBuiltin reports whether a text equals the built-in scenario of this name.
func isBuiltin(name string, text []byte) bool {
	own, err := builtin.ReadFile("builtin/" + name + ".yaml")
	return err == nil && bytes.Equal(own, text)
}

// markBuiltin marks the faults that the user has not requested: the faults of phases without an override
// of faults.
func (s *Scenario) markBuiltin(overrides []string) {
	for i := range s.Phases {
		p := &s.Phases[i]
		asked := slices.ContainsFunc(overrides, func(o string) bool {
			path, _, _ := strings.Cut(o, "=")
			steps := strings.Split(path, ".")
			return steps[0] == "phases" && (len(steps) == 1 || (steps[1] == strconv.Itoa(i) || steps[1] == p.Name) &&
				(len(steps) == 2 || steps[2] == "faults" || steps[2] == "rounds" || steps[2] == "cause"))
		})
		for j := range p.Faults {
			p.Faults[j].builtin = !asked
		}
		p.builtin = !asked
	}
}

func (s *Scenario) markAs(like *Scenario) {
	for i := range s.Phases {
		s.Phases[i].builtin = i < len(like.Phases) && like.Phases[i].builtin
		for j := range s.Phases[i].Faults {
			s.Phases[i].Faults[j].builtin = i < len(like.Phases) && j < len(like.Phases[i].Faults) && like.Phases[i].Faults[j].builtin
		}
	}
}

// leaveOut removes from the cells, and returns, the faults that a built-in scenario does not need
// and the ensemble does not support; the scenario in the run folder is the scenario that is run. A phase
// that loses all its faults is removed. The rest is reported: a run that needs an unsupported fault
// cannot pass.
func (c Config) leaveOut(ctx context.Context, t chaos.Target, cells []cell) ([]report.LeftOut, error) {
	var out []report.LeftOut
	for i := range c.Scenario.Phases {
		out = append(out, c.lacking(ctx, t, i)...)
	}
	if len(out) == 0 {
		return nil, nil
	}
	less := map[*Scenario]*Scenario{}
	for i, cell := range cells {
		if less[cell.Scenario] == nil {
			less[cell.Scenario] = cell.Scenario.without(out)
		}
		cells[i].Scenario = less[cell.Scenario]
	}
	return out, c.writeScenario(c.Scenario.without(out))
}

// lacking returns the faults of a phase that the ensemble does not support, and the faults among them that
// the phase does not need.
func (c Config) lacking(ctx context.Context, t chaos.Target, phase int) (out []report.LeftOut) {
	p := &c.Scenario.Phases[phase]
	cannot := func(what string, err error) {
		c.Logf("phases.%d%s, and without it nothing can pass (exit %d): %s", phase, what, exitUnknown, reasonWithout(err))
	}
	for _, name := range p.faultNames() {
		err := chaos.Lacking(ctx, name, t)
		switch {
		case err == nil:
		case p.spares(name):
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

// spares reports whether the phase can do without all faults of that name: the user has not
// requested them, and the phase's question does not need them. A phase of a built-in scenario whose
// kind injects the fault is omitted as a whole.
func (p *Phase) spares(name string) bool {
	if p.makes(name) {
		return p.builtin
	}
	those := slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool { return f.Fault != name })
	return len(those) > 0 && !slices.ContainsFunc(those, func(f Fault) bool { return f.Essential || !f.builtin })
}

// makes reports whether the kind of the phase injects the fault, as a failover by the death of a
// member does.
func (p *Phase) makes(name string) bool {
	return !slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Fault == name })
}

func (s *Scenario) without(out []report.LeftOut) *Scenario {
	less := *s
	less.Phases = nil
	for _, p := range s.Phases {
		if slices.ContainsFunc(out, func(l report.LeftOut) bool { return l.Phase == p.Name && p.makes(l.Fault) }) {
			continue
		}
		all := len(p.Faults)
		p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool {
			return slices.ContainsFunc(out, func(l report.LeftOut) bool { return l.Phase == p.Name && l.Fault == f.Fault })
		})
		if all == 0 || len(p.Faults) > 0 {
			less.Phases = append(less.Phases, p)
		}
	}
	return &less
}

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

// fitsClients checks that the clients whom the fault targets by number exist in the smallest trial.
func (f Fault) fitsClients(bad problemFunc, fewest int) {
	missing := func(field string, n int) {
		if n >= fewest {
			bad(field, "there is no client %d: the last of %d is client %d", n, fewest, fewest-1)
		}
	}
	if n, ok := f.targetClient(); ok {
		missing("target", n)
	}
	if e, err := parseEvent(f.On); err == nil && e.kind == holds {
		missing("on", e.n)
	}
}

func (f Fault) targetClient() (n int, ok bool) {
	who, ofClient := strings.CutPrefix(f.Target, chaos.MemberOf)
	if !ofClient && !f.hitsClients() {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(who, "client "))
	return n, err == nil
}

func (f Fault) hitsClients() bool {
	k, err := chaos.KindOf(f.Fault)
	return err == nil && slices.Contains(k.Targets, chaos.Holder)
}

func (f Fault) targetMember() string {
	k, err := chaos.KindOf(f.Fault)
	word := err != nil || slices.Contains(k.Targets, f.Target) || strings.HasPrefix(f.Target, chaos.MemberOf)
	if word || f.hitsClients() {
		return ""
	}
	return f.Target
}

func (c Config) checkMembers() error {
	all, err := c.Scenario.combinations()
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := c.missingMembers(one.scenario); err != nil {
			return err
		}
	}
	return nil
}

// missingMembers returns an error for targeted members of a scenario without a matrix that are not
// in the ensemble.
func (c Config) missingMembers(s *Scenario) error {
	names := memberNames(c.Ensemble)
	var missing []error
	for i, p := range s.Phases {
		for j, f := range p.Faults {
			if who := f.targetMember(); who != "" && !slices.Contains(names, who) && !c.isAddress(who) {
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
