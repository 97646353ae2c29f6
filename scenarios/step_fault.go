package scenarios

import (
	"context"
	"errors"
	"fmt"
	"github.com/zkbench/zkbench/report/units"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
)

type stepFault struct {
	Name  string
	About string
	fits  stepKind // kinds of step it applies to
	act   wire.Act // the tap's action at a request
	// told is the tap's action at a notification.
	told wire.Act
	away bool // the client cannot connect from the step until the fault is over
	// late means that the client is not idle while the fault lasts, which is until others have
	// progressed: the episode does not wait for it.
	late bool
	// under are the calls during which the fault applies; all if empty.
	under []string
	// alone is the fault of members that the cells share: they run separately; nil for others.
	alone *memberFault
	// timed means that the call is the recipe's own timed try, which must run out of time.
	timed bool
	// named means that the fault is not part of a full audit, unless it is named.
	named bool
	// process means that the fault stops the client's process, which only a driver has.
	process bool
	// only restricts the steps of a full audit further; nil for most faults.
	only func(s seenStep, subject recipes.Subject) bool
}

// memberFault is a fault of one member, or of several, that trials share.
type memberFault struct {
	fault string // of package chaos
	// target selects several members; "" is the member that serves the client.
	target string
	lasts  func(timeout time.Duration) time.Duration
}

// StepFaults are all faults that can be injected at a step, in the order of the columns.
var StepFaults = []*stepFault{
	{Name: "request.drop", fits: atRequest, act: wire.DropRequest,
		About: "the request never reaches the server, and the connection breaks"},
	{Name: "reply.drop", fits: atRequest, act: wire.DropReply,
		About: "the server carries the request out, the reply is lost, and the connection breaks"},
	{Name: "reply.drop.away", fits: atRequest, act: wire.DropReply, away: true,
		About: "the same, and the client cannot connect for most of its session timeout"},
	{Name: "flap.before", fits: atRequest | atNotification | atCall | atWait, act: wire.CutBefore, told: wire.CutBefore, away: true,
		About: "the connection breaks before the request is sent, before the notification comes, before the call, or while the client holds or waits; the session lives"},
	{Name: "flap.after", fits: atRequest | atNotification, act: wire.CutReplied, told: wire.CutReplied, away: true,
		About: "the connection breaks once the reply, or the notification, has come; the session lives"},
	{Name: "session.close", fits: atRequest | atNotification | atCall | atWait, act: wire.HoldRequest, told: wire.HoldReply, away: true,
		About: "the session ends at the servers while the request waits to be sent, before the notification comes, before the call, or while the client holds or waits"},
	{Name: "reply.close", fits: atRequest, act: wire.DropReply, away: true,
		About: "the server carries the request out, the reply is lost, and the session ends"},
	{Name: "session.expire", fits: atRequest | atCall | atWait, act: wire.HoldRequest, away: true,
		About: "the client is cut off until the servers have expired its session"},
	{Name: "client.freeze", fits: atRequest | atNotification | atCall | atWait, act: wire.HoldRequest, told: wire.HoldReply,
		About: "the client is stopped until its session has expired, and is not notified of it"},
	{Name: "client.pause", fits: atRequest | atNotification | atCall, act: wire.HoldReply, told: wire.HoldReply, process: true,
		About: "the process is stopped (SIGSTOP) before it reads the reply or the notification, before the call, or while it holds, until its session has expired; drivers only"},
	{Name: "request.hold", fits: atRequest, act: wire.HoldRequest, late: true,
		About: "the request reaches the server late: after another client has been granted or has released"},
	{Name: "reply.hold", fits: atRequest | atNotification, act: wire.HoldReply, told: wire.HoldReply, late: true,
		About: "the reply, or the notification, arrives late: after another client has been granted or has released"},
	{Name: "member.kill", fits: atRequest, act: wire.HoldRequest,
		alone: &memberFault{fault: "member.kill", lasts: func(time.Duration) time.Duration { return downFor }},
		About: "the member that serves the client is killed, and started again"},
	{Name: "outage", fits: atRequest | atCall | atWait, act: wire.HoldRequest, named: true,
		alone: &memberFault{fault: "member.pause", target: chaos.Majority, lasts: func(timeout time.Duration) time.Duration { return 2 * timeout }},
		About: "the ensemble is not available for longer than the session timeout: a majority of its members is frozen; the servers keep all sessions; not part of a full audit without --also outage"},
	{Name: "node.delete", fits: atCall | atWait, named: true, only: inLine,
		About: "an operator's session deletes the node of a client that holds or waits; not part of a full audit without --also node.delete"},
	{Name: "parent.delete", fits: atRequest, act: wire.HoldRequest, named: true, only: firstCreate,
		About: "an operator's session deletes the parent, which is empty, before the request is sent, as the servers do with containers; not part of a full audit without --also parent.delete"},
	{Name: "cancel", fits: atRequest | atNotification | atWait, act: wire.HoldRequest, told: wire.HoldReply, under: []string{callAcquire, callTake},
		About: "the caller gives up"},
	{Name: "timeout", fits: atRequest | atNotification | atWait, act: wire.HoldRequest, told: wire.HoldReply, timed: true, under: []string{callAcquire},
		About: "the recipe's own timed try runs out of time; of drivers that offer limit"},
}

func findStepFault(name string) *stepFault {
	i := slices.IndexFunc(StepFaults, func(f *stepFault) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return StepFaults[i]
}

// namedFaults returns the faults that a full audit omits unless they are named.
func namedFaults() []string {
	return units.Names(slices.DeleteFunc(slices.Clone(StepFaults), func(f *stepFault) bool { return !f.named }), func(f *stepFault) string { return f.Name })
}

func (f *stepFault) cancels() bool { return f.Name == "cancel" }

func (f *stepFault) at(s seenStep, subject recipes.Subject) bool {
	switch {
	case f.fits&s.kind() == 0, len(f.under) > 0 && !slices.Contains(f.under, s.under):
		return false
	case f.cancels() && subject.NoCancel:
		return false
	case f.timed && !subject.Tries:
		return false
	case f.process && subject.Start == nil && subject.Pipe == nil:
		return false
	case f.only != nil && !f.only(s, subject):
		return false
	}
	return true
}

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

// inLine reports whether the client has a place in line at the step.
func inLine(s seenStep, subject recipes.Subject) bool {
	return (s.op == callHold || s.op == callWait) && forLocks(subject) && subject.Recipe != recipes.RecipeBarrier
}

// firstCreate reports whether the step is the create of the client that is the first in line.
func firstCreate(s seenStep, subject recipes.Subject) bool {
	return s.role == grantRoles[0] && strings.HasPrefix(s.op, "create") && s.nth == 1
}

// deleteNodes deletes the client's nodes, as an operator does who takes it for dead. The client is not
// notified, unless it watches its own node.
func deleteNodes(ctx context.Context, x *stepInjection) error {
	operator, deleted, err := x.p.st.observer.deleteOwned(ctx, x.p.st.parent, x.c.wire.Session().ID)
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
	nodes, err := x.p.st.observer.nodes(ctx, parent)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(nodes, func(n node) bool { return n.owner != 0 || sequential.MatchString(n.path) }); i >= 0 {
		return fmt.Errorf("%w: the parent is not empty: %s exists", errInapplicable, nodes[i].path)
	}
	err = x.p.st.observer.any(ctx, 4*tryFor, func(ctx context.Context, s *recipes.Session) error { return s.RemoveTree(ctx, parent) })
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
		err = x.p.st.observer.caughtUp(ctx, server)
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

// tryFor is the limit of a timed try: short at a request, so that the client keeps its session
// while it is delayed; for a waiter, long enough for all clients to join.
func (x *stepInjection) tryFor() time.Duration {
	timeout := x.p.st.scenario.SessionTimeout
	if x.at.kind() == atWait {
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
	if x.at.kind() != atWait {
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
