package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// maxStepRepeats is the number of one client's steps with the same operation that are tested: polling repeats a
// step without end, and a queue's clients repeat it for every item.
const maxStepRepeats = 2

// StepsOf returns the steps of a role in order: the requests and notifications of a transcript, and
// the calls, which have no number yet.
func StepsOf(role string, frames []wire.Frame, made []spec.SeenStep) []spec.SeenStep {
	all := slices.Clone(made)
	for _, f := range frames {
		if f.Kind != wire.ReplyFrame && !slices.Contains(spec.UnsteadyOps, f.Op) {
			all = append(all, spec.SeenStep{Step: spec.Step{Op: f.Op.String()}, At: f.At})
		}
	}
	slices.SortStableFunc(all, func(a, b spec.SeenStep) int { return cmp.Compare(a.At, b.At) })
	counts, under := map[string]int{}, ""
	var out []spec.SeenStep
	for _, s := range all {
		counts[s.Op]++
		if s.Kind() == spec.AtCall { // a waiter is in the call that it made
			under = s.Op
		}
		if s.Role, s.Nth, s.Call = role, counts[s.Op], under; s.Nth <= maxStepRepeats {
			out = append(out, s)
		}
	}
	return out
}

type stepInjection struct {
	p     *episodeRun
	c     *stage.Client
	at    spec.Step
	fault *spec.StepFault
	shot  wire.ArmedRule // nil if the tap does not see the step
	come  chan struct{}  // closed when the step occurs, if the tap does not see it
	force chan struct{}  // closed when the fault is active or failed
	over  chan struct{}  // closed when the fault is over or was cancelled
	moves int64          // grants and releases of other clients at the injection
	// passable is true if the holder was another client and could release at the injection.
	passable bool

	proof    string      // evidence so far
	operator int64       // the session that deleted the client's nodes; 0 if none did
	begun    atomic.Bool // the step has occurred
	killed   bool        // the client's process was killed; valid once the fault is over
	inForce  func()      // closes force, once
}

// ErrInapplicable means that the recipe does not allow the case of a cell.
var ErrInapplicable = errors.New("not applicable")

// errNoStep means that the step did not occur in the episode.
var errNoStep = errors.New("the step did not occur")

// newInjection prepares the injection of a fault at a step. The caller must call run.
func (p *episodeRun) newInjection(s spec.Step, f *spec.StepFault) (*stepInjection, error) {
	x := &stepInjection{p: p, c: p.st.Clients[s.Client()], at: s, fault: f, come: make(chan struct{}), force: make(chan struct{}), over: make(chan struct{})}
	x.inForce = sync.OnceFunc(func() { close(x.force) })
	if f.Timed {
		if subject := p.st.Cell.Subject; !subject.SupportsLimit {
			return nil, fmt.Errorf("%w: %s does not support an acquire with a time limit: its driver does not offer \"limit\"", chaos.ErrSkipped, subject.Name)
		}
		x.c.Limit.Store(int64(x.tryFor()))
	}
	if s.Kind()&(spec.AtRequest|spec.AtNotification) != 0 {
		act := f.Act
		if s.Kind() == spec.AtNotification {
			act = f.NotificationAct
		}
		var err error
		if x.shot, err = x.c.Wire.Arm(s.Rule(act)); err != nil {
			return nil, err
		}
		x.c.Wire.SetGateClosed(f.Disconnects) // existing connections stay
	}
	return x, nil
}

// noStep returns an error that names the requests that the client sent.
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
		if n := counts.Of(op); n > 0 && !slices.Contains(spec.UnsteadyOps, op) {
			made = append(made, fmt.Sprintf("%s #%d", op, n))
		}
	}
	if len(made) == 0 {
		return fmt.Errorf("%w: the client sent no request", errNoStep)
	}
	return fmt.Errorf("%w; the last request of each type that the client sent: %s", errNoStep, strings.Join(made, ", "))
}

// run waits for the step and injects the fault. It returns when the fault is over, or was cancelled
// because the step did not occur.
func (x *stepInjection) run(ctx context.Context) {
	defer close(x.over)
	defer x.inForce()
	defer x.c.Wire.SetGateClosed(false)
	err := x.await(ctx)
	start := x.p.st.Clock.Now()
	x.moves, x.passable = x.p.moves(x.c.Number), x.p.passable(x)
	x.begun.Store(err == nil)
	if play := playStep[x.fault.Name]; err == nil && play != nil {
		err = play(ctx, x)
	}
	if !x.begun.Load() && x.fault.MemberFault != nil {
		x.p.st.Shared.Arrive(false)
	}
	if err != nil && !errors.Is(err, chaos.ErrSkipped) { // not available on this machine: a repetition would not help
		x.p.st.Missed.Store(true)
	}
	x.release()
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

// await waits for the step and keeps the evidence.
func (x *stepInjection) await(ctx context.Context) error {
	if x.shot == nil {
		if stage.Await(ctx, x.come) != nil {
			return errNoStep
		}
		x.proof = fmt.Sprintf("the client was at %s", x.at)
		return x.cutOff()
	}
	select {
	case p, fired := <-x.shot.Fired():
		if !fired {
			return x.noStep()
		}
		x.proof = p.String()
		return p.Err
	case <-ctx.Done():
		return x.noStep()
	}
}

// cutOff begins a fault at a call that disconnects the client.
func (x *stepInjection) cutOff() error {
	if !x.fault.Disconnects {
		return nil
	}
	x.c.Wire.SetGateClosed(true)
	if x.c.Wire.Cut() == 0 {
		return errors.New("the client had no connection to cut")
	}
	x.inForce()
	return nil
}

func (x *stepInjection) lasts() bool { return !stage.Closed(x.over) && x.begun.Load() }

func (x *stepInjection) release() {
	if x.shot != nil {
		x.shot.Disarm()
	}
}

// calling records that client n makes a call. If a fault is aimed at the call, calling waits until the fault is
// active or failed, and returns it; otherwise it returns nil.
func (p *episodeRun) calling(n int, call string) *stepInjection {
	nth := p.course.called(n, call, p.st.Clock.Now())
	for _, x := range p.injections {
		if x.c.Number == n && x.at.Op == call && x.at.Nth == nth {
			close(x.come)
			<-x.force
			return x
		}
	}
	return nil
}

// playStep maps the name of a fault to the function that injects the fault once the step has occurred, in addition
// to the tap's action. The fault is over when the function returns.
var playStep = map[string]func(ctx context.Context, x *stepInjection) error{
	"reply.drop.away": stayAway,
	"flap.before":     blink,
	"flap.after":      blink,
	"session.close":   inject("session.close"),
	"reply.close":     inject("session.close"),
	"session.expire":  inject("session.expire"),
	"client.freeze":   freeze,
	"client.pause":    pauseProcess,
	"client.restart":  restartProcess,
	"request.hold":    untilPassed,
	"reply.hold":      untilPassed,
	"member.kill":     hitMembers,
	"outage":          hitMembers,
	"node.delete":     deleteNodes,
	"parent.delete":   deleteParent,
	"cancel":          cancelCall,
	"timeout":         runOut,
}

// blinkFor is the time for which a flap disconnects a client.
const blinkFor = 100 * time.Millisecond

func blink(ctx context.Context, _ *stepInjection) error { return stage.Pause(ctx, blinkFor) }

func stayAway(ctx context.Context, x *stepInjection) error {
	return stage.Pause(ctx, x.p.st.Scenario.SessionTimeout*7/10)
}

// inject returns a function that injects a fault of package chaos into the client.
func inject(fault string) func(context.Context, *stepInjection) error {
	return func(ctx context.Context, x *stepInjection) error {
		return x.p.st.Inject(ctx, fault, x.c.Number)
	}
}

// deleteNodes deletes the client's nodes, like an operator who believes the client dead. The client is not
// notified, unless it watches its own node.
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
	err = x.p.st.Observer.AnyMember(ctx, 4*observer.TryFor, func(ctx context.Context, s *recipes.Session) error { return s.RemoveTree(ctx, parent) })
	x.proof += fmt.Sprintf("; %s was deleted", parent)
	return err
}

// freeze delays all traffic of the client until its session has expired.
func freeze(ctx context.Context, x *stepInjection) error {
	st := x.p.st
	if err := x.c.Wire.Hold(); err != nil {
		return err
	}
	defer x.c.Wire.EndHold()
	x.inForce()
	x.release()
	proof, err := chaos.AwaitExpired(ctx, st.Target(nil), x.c.Wire)
	x.proof += "; " + proof
	return err
}

// pauseProcess stops the client's process until its session has expired. The reply or notification
// has arrived when it continues.
func pauseProcess(ctx context.Context, x *stepInjection) (err error) {
	st := x.p.st
	fault, err := chaos.Parse("client.pause", fmt.Sprint(x.c.Number), nil)
	if err != nil {
		return err
	}
	e, err := fault.Inject(ctx, st.Target(nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Heal(context.WithoutCancel(ctx))) }()
	x.inForce()
	x.release()
	expired, err := chaos.AwaitExpired(ctx, st.Target(nil), x.c.Wire)
	x.proof += "; " + e.Proof + "; " + expired
	return err
}

// restartProcess kills the client's process. The client is opened in a new one under the same number,
// while the servers still have its old session and its nodes.
func restartProcess(ctx context.Context, x *stepInjection) error {
	fault, err := chaos.Parse("client.kill", fmt.Sprint(x.c.Number), nil)
	if err != nil {
		return err
	}
	e, err := fault.Inject(ctx, x.p.st.Target(nil))
	if err != nil {
		return err
	}
	x.killed = true
	x.proof += "; " + e.Proof
	return e.Heal(ctx)
}

// untilPassed returns when another client was granted or has released, and the client's member
// has applied that; at the latest before the client would disconnect. It fails if no client made progress
// although the holder could have released.
func untilPassed(ctx context.Context, x *stepInjection) error {
	limit, server := x.p.st.Scenario.SessionTimeout/2, x.c.Wire.Session().Server
	start := time.Now()
	gone := func() bool { return x.c.Wire.Session().Server != server }
	err := stage.Poll(ctx, limit, func(context.Context) (bool, error) { return x.p.moves(x.c.Number) > x.moves || gone(), nil })
	if err == nil && x.p.moves(x.c.Number) == x.moves { // earlier than its session timeout requires
		return fmt.Errorf("%w: the client's library disconnected after %v, before another client acquired or released the lock", ErrInapplicable, time.Since(start).Round(time.Millisecond))
	}
	switch {
	case errors.Is(err, stage.ErrPollLimit) && x.passable:
		return errors.New("no client acquired or released the lock in time")
	case errors.Is(err, stage.ErrPollLimit):
		return nil // no client could: the fault was the delay
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

// cancelCall cancels the call in progress, and forwards the request once the call has returned or
// has not returned in time.
func cancelCall(ctx context.Context, x *stepInjection) error {
	a := x.p.last(x.c.Number)
	if a == nil || a.HasReturned() {
		return fmt.Errorf("%w: no operation of the client was pending at that step", ErrInapplicable)
	}
	a.Cancel()
	a.AwaitReturn(ctx, blinkFor)
	return nil
}

// tryFor is the limit of a timed try: short at a request, so that the client keeps its session
// while it is delayed; for a waiter, long enough for all clients to join.
func (x *stepInjection) tryFor() time.Duration {
	timeout := x.p.st.Scenario.SessionTimeout
	if x.at.Kind() == spec.AtWait {
		return timeout
	}
	return timeout / 4
}

// runOut forwards the request once the time is up and the call has returned or has not returned in
// time.
func runOut(ctx context.Context, x *stepInjection) error {
	a := x.p.last(x.c.Number)
	switch {
	case a != nil && a.HasReturned() && a.Err == nil:
		return fmt.Errorf("%w: the client had already been granted the lock before that step", ErrInapplicable)
	case a == nil || a.HasReturned() && !errors.Is(a.Err, recipes.ErrNotAcquired):
		return errors.New("no acquire with a time limit was pending")
	}
	limit := x.tryFor()
	if x.at.Kind() != spec.AtWait {
		a.AwaitReturn(ctx, limit+blinkFor)
		return nil
	}
	a.AwaitReturn(ctx, 2*limit) // an acquire that does not return fails progress
	return nil
}

// hitMembers injects a fault of members for all trials that wait for it.
func hitMembers(ctx context.Context, x *stepInjection) error {
	return x.p.st.Shared.AwaitHit(ctx, x.c.Wire.Session().Server, x.release)
}
