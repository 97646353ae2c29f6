package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// playStep maps the name of a fault to the function that injects the fault once the step has occurred, in addition
// to the tap's action. The fault is over when the function returns.
var playStep = map[string]func(ctx context.Context, x *stepInjection) error{
	"reply.drop.away": stayAway,
	"flap.before":     blink,
	"flap.after":      blink,
	"session.close":   endSession,
	"reply.close":     endSession,
	"session.expire":  expireSession,
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

// endSession closes the client's session at the servers.
func endSession(ctx context.Context, x *stepInjection) error {
	return x.p.st.Inject(ctx, "session.close", fmt.Sprint(x.c.Number), nil)
}

func expireSession(ctx context.Context, x *stepInjection) error {
	return x.p.st.Inject(ctx, "session.expire", fmt.Sprint(x.c.Number), nil)
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
	if err := x.c.Wire.Hold(wire.Deaf); err != nil {
		return err
	}
	defer x.c.Wire.Thaw()
	x.inForce()
	x.release()
	proof, err := chaos.Expired(ctx, st.Target(nil), x.c.Wire)
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
	expired, err := chaos.Expired(ctx, st.Target(nil), x.c.Wire)
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
		err = x.p.st.Observer.CaughtUp(ctx, server)
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
	if a == nil || a.Ended() {
		return fmt.Errorf("%w: no operation of the client was pending at that step", ErrInapplicable)
	}
	a.GiveUp()
	a.Returned(ctx, blinkFor)
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
	case a != nil && a.Ended() && a.Err == nil:
		return fmt.Errorf("%w: the client had already been granted the lock before that step", ErrInapplicable)
	case a == nil || a.Ended() && !errors.Is(a.Err, recipes.ErrNotAcquired):
		return errors.New("no acquire with a time limit was pending")
	}
	limit := x.tryFor()
	if x.at.Kind() != spec.AtWait {
		a.Returned(ctx, limit+blinkFor)
		return nil
	}
	a.Returned(ctx, 2*limit) // an acquire that does not return fails progress
	return nil
}

// hitMembers injects a fault of members for all trials that wait for it.
func hitMembers(ctx context.Context, x *stepInjection) error {
	return x.p.st.Shared.Strike(ctx, x.c.Wire.Session().Server, x.release)
}
