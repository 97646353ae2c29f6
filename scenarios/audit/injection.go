package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// maxStepRepeats is the number of a client's steps with the same operation that are tested: a polling client repeats
// a step without end, and a queue's clients repeat it for every item.
const maxStepRepeats = 2

// StepsOf returns the steps of a role in order: the requests and notifications of a transcript, and
// the calls, which have no number yet.
func StepsOf(role string, frames []wire.Frame, made []spec.SeenStep) []spec.SeenStep {
	all := slices.Clone(made)
	for _, f := range frames {
		if f.Kind != wire.ReplyFrame && !slices.Contains(spec.ExcludedOps, f.Op) {
			all = append(all, spec.SeenStep{Step: spec.Step{Op: f.Op.String()}, At: f.At})
		}
	}
	slices.SortStableFunc(all, func(a, b spec.SeenStep) int { return cmp.Compare(a.At, b.At) })
	counts, under := map[string]int{}, ""
	var out []spec.SeenStep
	for _, s := range all {
		counts[s.Op]++
		if s.Kind() == spec.AtCall { // a waiter is in its last call
			under = s.Op
		}
		if s.Role, s.Nth, s.Call = role, counts[s.Op], under; s.Nth <= maxStepRepeats {
			out = append(out, s)
		}
	}
	return out
}

type stepInjection struct {
	p           *episodeRun
	c           *stage.Client
	at          spec.Step
	fault       *spec.StepFault
	rule        wire.ArmedRule // nil if the tap does not see the step
	reached     chan struct{}  // closed when the step occurs, if the tap does not see the step
	active      chan struct{}  // closed when the fault is active, or could not be injected
	over        chan struct{}  // closed when the fault is over or was cancelled
	transitions int64          // grants and releases of other clients at the injection
	// passable is true if the holder was another client and could release at the injection.
	passable bool

	proof      string      // evidence so far
	operator   int64       // the session that deleted the client's nodes; 0 if none did
	begun      atomic.Bool // the step has occurred
	killed     bool        // the client's process was killed; valid once the fault is over
	markActive func()      // closes active, once
}

// ErrInapplicable means that a cell cannot occur with the recipe.
var ErrInapplicable = errors.New("not applicable")

var errNoStep = errors.New("the step did not occur")

// newInjection prepares the injection of a fault at a step. The caller must call run.
func (p *episodeRun) newInjection(s spec.Step, f *spec.StepFault) (*stepInjection, error) {
	x := &stepInjection{p: p, c: p.st.Clients[s.Client()], at: s, fault: f, reached: make(chan struct{}), active: make(chan struct{}), over: make(chan struct{})}
	x.markActive = sync.OnceFunc(func() { close(x.active) })
	if f.Timed {
		if subject := p.st.Cell.Subject; !subject.SupportsLimit {
			return nil, fmt.Errorf("%w: %s does not support an acquire with a time limit: its driver does not offer \"limit\"", chaos.ErrSkipped, subject.Name)
		}
		x.c.Limit.Store(int64(x.acquireLimit()))
	}
	if s.Kind()&(spec.AtRequest|spec.AtNotification) != 0 {
		act := f.Act
		if s.Kind() == spec.AtNotification && act == wire.HoldRequest {
			act = wire.HoldReply
		}
		var err error
		if x.rule, err = x.c.Wire.Arm(s.Rule(act)); err != nil {
			return nil, err
		}
		x.c.Wire.SetGateClosed(f.Disconnects) // does not close existing connections
	}
	return x, nil
}

func (x *stepInjection) noStep() error {
	if slices.Contains(spec.BacklogRoles, x.at.Role) {
		return fmt.Errorf("%w: with items waiting in the queue, %w", ErrInapplicable, errNoStep)
	}
	if x.at.Kind() != spec.AtRequest {
		return errNoStep
	}
	var made []string
	counts := x.c.Wire.Counts().Requests
	for _, op := range wire.Ops() {
		if n := counts.Of(op); n > 0 && !slices.Contains(spec.ExcludedOps, op) {
			made = append(made, fmt.Sprintf("%s #%d", op, n))
		}
	}
	if len(made) == 0 {
		return fmt.Errorf("%w: the client sent no request", errNoStep)
	}
	return fmt.Errorf("%w; the last request of each type that the client sent: %s", errNoStep, strings.Join(made, ", "))
}

// run injects the fault at its step. It returns when the fault is over, or the step did not occur.
func (x *stepInjection) run(ctx context.Context) {
	defer close(x.over)
	defer x.markActive()
	defer x.c.Wire.SetGateClosed(false)
	err := x.await(ctx)
	start := x.p.st.Clock.Now()
	x.transitions, x.passable = x.p.transitions(x.c.Number), x.p.passable(x)
	x.begun.Store(err == nil)
	if play := stepActions[x.fault.Name]; err == nil && play != nil {
		err = play(ctx, x)
	}
	if !x.begun.Load() && x.fault.MemberFault != nil {
		x.p.st.Shared.Arrive(false)
	}
	if err != nil && !errors.Is(err, chaos.ErrSkipped) { // a fault that this machine does not support is not repeated
		x.p.st.Missed.Store(true)
	}
	x.disarm()
	w := &history.Window{Fault: x.fault.Name, Target: fmt.Sprintf("client %d (%s)", x.c.Number, x.at.Role), Client: x.c.Number,
		Start: start, End: x.p.st.Clock.Now(), Proof: x.proof, Operator: x.operator}
	if x.fault.MemberFault != nil && x.fault.MemberFault.Target != "" {
		for _, c := range x.p.st.Clients {
			w.Served = append(w.Served, c.Number)
		}
	}
	if err != nil {
		w.Proof, w.Err = "", fmt.Sprintf("%s at %s: %v", x.fault.Name, x.at, err)
		w.Inapplicable = errors.Is(err, ErrInapplicable)
	}
	x.p.st.Record.Record(w)
}

func (x *stepInjection) await(ctx context.Context) error {
	if x.rule == nil {
		if stage.Await(ctx, x.reached) != nil {
			return errNoStep
		}
		x.proof = fmt.Sprintf("the client was at %s", x.at)
		return x.disconnect()
	}
	select {
	case p, fired := <-x.rule.Fired():
		if !fired {
			return x.noStep()
		}
		x.proof = p.String()
		return p.Err
	case <-ctx.Done():
		return x.noStep()
	}
}

// disconnect begins a fault at a call that disconnects the client.
func (x *stepInjection) disconnect() error {
	if !x.fault.Disconnects {
		return nil
	}
	x.c.Wire.SetGateClosed(true)
	if x.c.Wire.Cut() == 0 {
		return errors.New("the client had no connection to cut")
	}
	x.markActive()
	return nil
}

func (x *stepInjection) isActive() bool { return !stage.Closed(x.over) && x.begun.Load() }

// disarm lets the request, reply or notification pass that the tap holds at the step.
func (x *stepInjection) disarm() {
	if x.rule != nil {
		x.rule.Disarm()
	}
}

// calling records that client n makes a call. If a fault is aimed at the call, calling waits until the fault is
// active or failed, and returns it; otherwise it returns nil.
func (p *episodeRun) calling(n int, call string) *stepInjection {
	nth := p.called(n, call)
	for _, x := range p.injections {
		if x.c.Number == n && x.at.Op == call && x.at.Nth == nth {
			close(x.reached)
			<-x.active
			return x
		}
	}
	return nil
}

// stepActions maps the name of a fault to the function that injects the fault once the step has occurred, in addition
// to the tap's action. The fault is over when the function returns.
var stepActions = map[string]func(ctx context.Context, x *stepInjection) error{
	"reply.drop.away": stayDisconnected,
	"flap.before":     disconnectBriefly,
	"flap.after":      disconnectBriefly,
	"session.close":   inject("session.close"),
	"reply.close":     inject("session.close"),
	"session.expire":  inject("session.expire"),
	"client.freeze":   freeze,
	"client.pause":    pauseProcess,
	"client.restart":  restartProcess,
	"request.hold":    awaitHandoff,
	"reply.hold":      awaitHandoff,
	"member.kill":     injectMemberFault,
	"leader.kill":     injectMemberFault,
	"outage":          injectMemberFault,
	"node.delete":     deleteNodes,
	"parent.delete":   deleteParent,
	"cancel":          cancelCall,
	"timeout":         awaitLimit,
}

const flapDuration = 100 * time.Millisecond

func disconnectBriefly(ctx context.Context, _ *stepInjection) error {
	return stage.Pause(ctx, flapDuration)
}

func stayDisconnected(ctx context.Context, x *stepInjection) error {
	return stage.Pause(ctx, x.p.st.Scenario.SessionTimeout*7/10)
}

// inject returns a function that injects a fault of package chaos into the client.
func inject(fault string) func(context.Context, *stepInjection) error {
	return func(ctx context.Context, x *stepInjection) error {
		return x.p.st.Inject(ctx, fault, x.c.Number)
	}
}

// deleteNodes deletes the client's nodes, like an operator who assumes that the client has failed. The
// client is not notified, unless it watches its own node.
func deleteNodes(ctx context.Context, x *stepInjection) error {
	operator, deleted, err := x.p.st.Observer.DeleteOwned(ctx, x.p.st.Parent, x.c.Wire.Session().ID)
	if err == nil && len(deleted) == 0 {
		return fmt.Errorf("%w: the client has no ephemeral node at that step", ErrInapplicable)
	}
	x.operator = operator
	x.proof += fmt.Sprintf("; session %#x deleted %s", uint64(operator), strings.Join(deleted, ", "))
	return err
}

// deleteParent deletes the path on which the clients contend, if no client has a node below it.
func deleteParent(ctx context.Context, x *stepInjection) error {
	parent := x.p.st.Parent
	nodes, err := x.p.st.Observer.Nodes(ctx, parent)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(nodes, func(n observer.Node) bool { return n.Owner != 0 || observer.Sequential.MatchString(n.Path) }); i >= 0 {
		return fmt.Errorf("%w: the parent is not empty: %s exists", ErrInapplicable, nodes[i].Path)
	}
	err = x.p.st.Observer.AnyMember(ctx, 4*observer.MemberTimeout, func(ctx context.Context, s *recipes.Session) error { return s.RemoveTree(ctx, parent) })
	x.proof += fmt.Sprintf("; %s was deleted", parent)
	return err
}

// freeze delays all traffic of the client until its session has expired.
func freeze(ctx context.Context, x *stepInjection) error {
	if err := x.c.Wire.Hold(); err != nil {
		return err
	}
	defer x.c.Wire.EndHold()
	return x.awaitExpiry(ctx)
}

// pauseProcess stops the client's process until its session has expired. The reply or notification
// has arrived when the process resumes.
func pauseProcess(ctx context.Context, x *stepInjection) (err error) {
	e, err := x.injectProcessFault(ctx, "client.pause")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Heal(context.WithoutCancel(ctx))) }()
	return x.awaitExpiry(ctx)
}

func (x *stepInjection) injectProcessFault(ctx context.Context, name string) (chaos.Effect, error) {
	fault, err := chaos.Parse(name, strconv.Itoa(x.c.Number), nil)
	if err != nil {
		return chaos.Effect{}, err
	}
	e, err := fault.Inject(ctx, x.p.st.Target(nil))
	if err == nil {
		x.proof += "; " + e.Proof
	}
	return e, err
}

func (x *stepInjection) awaitExpiry(ctx context.Context) error {
	x.markActive()
	x.disarm()
	expired, err := chaos.AwaitExpired(ctx, x.p.st.Target(nil), x.c.Wire)
	x.proof += "; " + expired
	return err
}

// restartProcess kills the client's process. The client is opened in a new one under the same number,
// while the servers still have its old session and its nodes.
func restartProcess(ctx context.Context, x *stepInjection) error {
	e, err := x.injectProcessFault(ctx, "client.kill")
	if err != nil {
		return err
	}
	x.killed = true
	return e.Heal(ctx)
}

// awaitHandoff waits until another client was granted or has released, and the client's member has applied the
// transaction, or until shortly before the client would disconnect. It fails if no client made progress although
// the holder could have released.
func awaitHandoff(ctx context.Context, x *stepInjection) error {
	limit, server := x.p.st.Scenario.SessionTimeout/2, x.c.Wire.Session().Server
	start := time.Now()
	gone := func() bool { return x.c.Wire.Session().Server != server }
	err := stage.Poll(ctx, limit, func(context.Context) (bool, error) { return x.p.transitions(x.c.Number) > x.transitions || gone(), nil })
	if err == nil && x.p.transitions(x.c.Number) == x.transitions { // before its session timeout required it
		return fmt.Errorf("%w: the client's library disconnected after %v, before another client acquired or released the lock", ErrInapplicable, time.Since(start).Round(time.Millisecond))
	}
	switch {
	case errors.Is(err, stage.ErrPollLimit) && x.passable:
		return errors.New("no client acquired or released the lock in time")
	case errors.Is(err, stage.ErrPollLimit):
		return nil // no client could release: the fault was only a delay
	case err == nil:
		err = x.p.st.Observer.AwaitCaughtUp(ctx, server)
	}
	if err == nil && gone() && time.Since(start) < limit {
		return fmt.Errorf("%w: the client's library disconnected in less than %v, half its session timeout", ErrInapplicable, limit)
	}
	if err == nil && gone() {
		err = fmt.Errorf("the client disconnected before member %s had applied the grant or release", server)
	}
	return err
}

// cancelCall cancels the call in progress. The tap forwards the request once the call has returned, or has not
// returned in time.
func cancelCall(ctx context.Context, x *stepInjection) error {
	a := x.p.lastAttempt(x.c.Number)
	if a == nil || a.HasReturned() {
		return fmt.Errorf("%w: no operation of the client was pending at that step", ErrInapplicable)
	}
	a.Cancel()
	a.AwaitReturn(ctx, flapDuration)
	return nil
}

// acquireLimit is the limit of a timed acquire: short at a request, so that the client keeps its session
// while it is delayed; for a waiter, long enough for all clients to join.
func (x *stepInjection) acquireLimit() time.Duration {
	timeout := x.p.st.Scenario.SessionTimeout
	if x.at.Kind() == spec.AtWait {
		return timeout
	}
	return timeout / 4
}

// awaitLimit waits until the limit of the acquire is over. The tap forwards the request as for cancelCall.
func awaitLimit(ctx context.Context, x *stepInjection) error {
	a := x.p.lastAttempt(x.c.Number)
	switch {
	case a != nil && a.HasReturned() && a.Err == nil:
		return fmt.Errorf("%w: the client had already been granted the lock before that step", ErrInapplicable)
	case a == nil || a.HasReturned() && !errors.Is(a.Err, recipes.ErrNotAcquired):
		return errors.New("no acquire with a time limit was pending")
	}
	limit := x.acquireLimit()
	if x.at.Kind() != spec.AtWait {
		a.AwaitReturn(ctx, limit+flapDuration)
		return nil
	}
	a.AwaitReturn(ctx, 2*limit) // an acquire that does not return fails progress
	return nil
}

// injectMemberFault waits until the fault of a member that several trials share is over.
func injectMemberFault(ctx context.Context, x *stepInjection) error {
	return x.p.st.Shared.AwaitOver(ctx, x.c.Wire.Session().Server, x.disarm)
}
