package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/scenarios/observer"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
)

// playStep has, by the fault's name, what injects it once the step has occurred, in addition to the tap's
// action. The fault is over when it returns.
var playStep = map[string]func(ctx context.Context, x *stepInjection) error{
	"reply.drop.away": stayAway,
	"flap.before":     blink,
	"flap.after":      blink,
	"session.close":   endSession,
	"reply.close":     endSession,
	"session.expire":  expireSession,
	"client.freeze":   freeze,
	"client.pause":    pauseProcess,
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

func blink(ctx context.Context, _ *stepInjection) error { return pause(ctx, blinkFor) }

func stayAway(ctx context.Context, x *stepInjection) error {
	return pause(ctx, x.p.st.scenario.SessionTimeout*7/10)
}

// endSession closes the client's session at the servers.
func endSession(ctx context.Context, x *stepInjection) error {
	return x.p.st.inject(ctx, "session.close", fmt.Sprint(x.c.n), nil)
}

func expireSession(ctx context.Context, x *stepInjection) error {
	return x.p.st.inject(ctx, "session.expire", fmt.Sprint(x.c.n), nil)
}

// deleteNodes deletes the client's nodes, as an operator does who takes it for dead. The client is not
// notified, unless it watches its own node.
func deleteNodes(ctx context.Context, x *stepInjection) error {
	operator, deleted, err := x.p.st.observer.DeleteOwned(ctx, x.p.st.parent, x.c.wire.Session().ID)
	if err == nil && len(deleted) == 0 {
		return fmt.Errorf("%w: the client has no ephemeral node at that step", errInapplicable)
	}
	x.operator = operator
	x.proof += fmt.Sprintf("; session %#x deleted %s", uint64(operator), strings.Join(deleted, ", "))
	return err
}

// deleteParent deletes the path on which the clients contend, if no client has a node below it.
func deleteParent(ctx context.Context, x *stepInjection) error {
	parent := x.p.st.parent
	nodes, err := x.p.st.observer.Nodes(ctx, parent)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(nodes, func(n observer.Node) bool { return n.Owner != 0 || observer.Sequential.MatchString(n.Path) }); i >= 0 {
		return fmt.Errorf("%w: the parent is not empty: %s exists", errInapplicable, nodes[i].Path)
	}
	err = x.p.st.observer.AnyMember(ctx, 4*observer.TryFor, func(ctx context.Context, s *recipes.Session) error { return s.RemoveTree(ctx, parent) })
	x.proof += fmt.Sprintf("; %s was deleted", parent)
	return err
}

// freeze delays all traffic of the client until its session has expired.
func freeze(ctx context.Context, x *stepInjection) error {
	st := x.p.st
	if err := x.c.wire.Hold(wire.Deaf); err != nil {
		return err
	}
	defer x.c.wire.Thaw()
	x.inForce()
	x.release()
	proof, err := chaos.Expired(ctx, st.target(nil), x.c.wire)
	x.proof += "; " + proof
	return err
}

// pauseProcess stops the client's process until its session has expired. The reply or notification
// has arrived when it continues.
func pauseProcess(ctx context.Context, x *stepInjection) (err error) {
	st := x.p.st
	fault, err := chaos.Parse("client.pause", fmt.Sprint(x.c.n), nil)
	if err != nil {
		return err
	}
	e, err := fault.Inject(ctx, st.target(nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Heal(context.WithoutCancel(ctx))) }()
	x.inForce()
	x.release()
	expired, err := chaos.Expired(ctx, st.target(nil), x.c.wire)
	x.proof += "; " + e.Proof + "; " + expired
	return err
}

// untilPassed returns when another client was granted or has released, and the client's member
// knows it; at the latest before the client would disconnect. It fails if no client made progress
// although the holder could have released.
func untilPassed(ctx context.Context, x *stepInjection) error {
	limit, server := x.p.st.scenario.SessionTimeout/2, x.c.wire.Session().Server
	start := time.Now()
	gone := func() bool { return x.c.wire.Session().Server != server }
	err := poll(ctx, limit, func(context.Context) (bool, error) { return x.p.moves(x.c.n) > x.moves || gone(), nil })
	if err == nil && x.p.moves(x.c.n) == x.moves { // earlier than its session timeout requires
		return fmt.Errorf("%w: the client's library disconnected %v later, before another client was granted or released", errInapplicable, time.Since(start).Round(time.Millisecond))
	}
	switch {
	case errors.Is(err, errPollLimit) && x.passable:
		return errors.New("no client was granted or released in time")
	case errors.Is(err, errPollLimit):
		return nil // no client could: the fault was the delay
	case err == nil:
		err = x.p.st.observer.CaughtUp(ctx, server)
	}
	if err == nil && gone() && time.Since(start) < limit {
		return fmt.Errorf("%w: the client's library hung up within %v, sooner than half its session timeout", errInapplicable, limit)
	}
	if err == nil && gone() {
		err = fmt.Errorf("the client had hung up before member %s knew of the grant or release", server)
	}
	return err
}

// cancelCall cancels the call in progress, and forwards the request once the call has returned or
// has not returned in time.
func cancelCall(ctx context.Context, x *stepInjection) error {
	a := x.p.last(x.c.n)
	if a == nil || a.ended() {
		return fmt.Errorf("%w: no operation of the client was pending at that step", errInapplicable)
	}
	a.giveUp()
	a.returned(ctx, blinkFor)
	return nil
}

// TryFor is the limit of a timed try: short at a request, so that the client keeps its session
// while it is delayed; for a waiter, long enough for all clients to join.
func (x *stepInjection) tryFor() time.Duration {
	timeout := x.p.st.scenario.SessionTimeout
	if x.at.Kind() == spec.AtWait {
		return timeout
	}
	return timeout / 4
}

// runOut forwards the request once the time is up and the call has returned or has not returned in
// time.
func runOut(ctx context.Context, x *stepInjection) error {
	a := x.p.last(x.c.n)
	switch {
	case a != nil && a.ended() && a.err == nil:
		return fmt.Errorf("%w: the client was granted before that step", errInapplicable)
	case a == nil || a.ended() && !errors.Is(a.err, recipes.ErrNotAcquired):
		return errors.New("no timed try was pending")
	}
	limit := x.tryFor()
	if x.at.Kind() != spec.AtWait {
		a.returned(ctx, limit+blinkFor)
		return nil
	}
	a.returned(ctx, 2*limit) // an acquire that does not return fails progress
	return nil
}

// hitMembers injects a fault of members for all trials that wait for it.
func hitMembers(ctx context.Context, x *stepInjection) error {
	return x.p.st.joint.strike(ctx, x.c.wire.Session().Server, x.release)
}
