package spec

import (
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

// StepFault is a fault that an audit injects at a step.
type StepFault struct {
	Name        string   // name in the names of cells
	About       string   // one line, for lists
	stepKinds   StepKind // kinds of step it applies to
	Act         wire.Act // the tap's action at a request; at a notification, HoldRequest holds the notification
	Disconnects bool     // the client cannot connect from the step until the fault is healed
	// UntilOthersProgress means that the fault lasts until other clients have progressed: meanwhile the episode does
	// not wait until this client is idle.
	UntilOthersProgress bool
	duringCalls         []string     // the calls during which the fault applies; all if empty
	MemberFault         *MemberFault // the fault of members that cells share, which run apart from other cells; nil if none
	Timed               bool         // the call is the recipe's own acquire with a time limit, which must time out
	OptIn               bool         // a full audit includes the fault only if the phase's field also lists it
	process             bool         // the fault stops the client's process, which only a driver has
	// only restricts the steps of a full audit further; nil for most faults.
	only func(s SeenStep, subject recipes.Subject) bool
}

// MemberFault is a fault of one or several members that trials share.
type MemberFault struct {
	Fault string // name of a fault of package chaos
	// Target selects several members; "" is the member that serves the client.
	Target string
	Lasts  func(timeout time.Duration) time.Duration // duration, by the session timeout
}

// AuditDowntime is the time for which a fault of an audit keeps a member down.
const AuditDowntime = 500 * time.Millisecond

// StepFaults are all faults that can be injected at a step, in the order of the audit table's columns.
var StepFaults = []*StepFault{
	{Name: "request.drop", stepKinds: AtRequest, Act: wire.DropRequest,
		About: "the request never reaches the server, and the connection breaks"},
	{Name: "reply.drop", stepKinds: AtRequest, Act: wire.DropReply,
		About: "the server executes the request, the reply is lost, and the connection breaks"},
	{Name: "reply.drop.away", stepKinds: AtRequest, Act: wire.DropReply, Disconnects: true,
		About: "like reply.drop, and the client cannot connect for most of its session timeout"},
	{Name: "flap.before", stepKinds: AtRequest | AtNotification | AtCall | AtWait, Act: wire.CutBefore, Disconnects: true,
		About: "the connection breaks before the request is sent, before the notification comes, before the call, or while the client holds or waits; the session survives"},
	{Name: "flap.after", stepKinds: AtRequest | AtNotification, Act: wire.CutReplied, Disconnects: true,
		About: "the connection breaks after the reply or the notification has arrived; the session survives"},
	{Name: "session.close", stepKinds: AtRequest | AtNotification | AtCall | AtWait, Act: wire.HoldRequest, Disconnects: true,
		About: "the session ends at the servers while the request waits to be sent, before the notification comes, before the call, or while the client holds or waits"},
	{Name: "reply.close", stepKinds: AtRequest, Act: wire.DropReply, Disconnects: true,
		About: "the server executes the request, the reply is lost, and the session ends"},
	{Name: "session.expire", stepKinds: AtRequest | AtCall | AtWait, Act: wire.HoldRequest, Disconnects: true,
		About: "the client is cut off until the servers have expired its session"},
	{Name: "client.freeze", stepKinds: AtRequest | AtNotification | AtCall | AtWait, Act: wire.HoldRequest,
		About: "the client is stopped until its session has expired, and is not notified of it"},
	{Name: "client.pause", stepKinds: AtRequest | AtNotification | AtCall, Act: wire.HoldReply, process: true,
		About: "the process is stopped (SIGSTOP) before it reads the reply or the notification, before the call, or while it holds, until its session has expired; drivers only"},
	{Name: "client.restart", stepKinds: AtRequest | AtNotification | AtCall | AtWait, Act: wire.HoldReply, process: true, OptIn: true,
		About: "the process is killed, and started again at once as the same client, while its old session still exists; drivers only; not part of a full audit without --also client.restart"},
	{Name: "request.hold", stepKinds: AtRequest, Act: wire.HoldRequest, UntilOthersProgress: true,
		About: "the request reaches the server late: after another client has received or released a grant"},
	{Name: "reply.hold", stepKinds: AtRequest | AtNotification, Act: wire.HoldReply, UntilOthersProgress: true,
		About: "the reply, or the notification, arrives late: after another client has received or released a grant"},
	{Name: "member.kill", stepKinds: AtRequest, Act: wire.HoldRequest,
		MemberFault: &MemberFault{Fault: "member.kill", Lasts: func(time.Duration) time.Duration { return AuditDowntime }},
		About:       "the member that serves the client is killed, and started again"},
	{Name: "leader.kill", stepKinds: AtCall | AtWait, only: firstHoldOrWait,
		MemberFault: &MemberFault{Fault: "member.kill", Target: chaos.Leader, Lasts: func(time.Duration) time.Duration { return AuditDowntime }},
		About:       "the leader is killed while the client holds or waits, and started again: the members elect another leader, with which a new epoch of zxids begins"},
	{Name: "outage", stepKinds: AtRequest | AtCall | AtWait, Act: wire.HoldRequest, OptIn: true,
		MemberFault: &MemberFault{Fault: "member.pause", Target: chaos.Majority, Lasts: func(timeout time.Duration) time.Duration { return 2 * timeout }},
		About:       "the ensemble is not available for longer than the session timeout: a majority of its members is frozen; the servers keep all sessions; not part of a full audit without --also outage"},
	{Name: "node.delete", stepKinds: AtCall | AtWait, OptIn: true, only: inLine,
		About: "an operator's session deletes the node of a client that holds or waits; not part of a full audit without --also node.delete"},
	{Name: "parent.delete", stepKinds: AtRequest, Act: wire.HoldRequest, OptIn: true, only: firstCreate,
		About: "an operator's session deletes the parent, which is empty, before the request is sent, as the servers do with containers; not part of a full audit without --also parent.delete"},
	{Name: "cancel", stepKinds: AtRequest | AtNotification | AtWait, Act: wire.HoldRequest, duringCalls: []string{CallAcquire, CallTake},
		About: "the caller cancels the acquire or take"},
	{Name: "timeout", stepKinds: AtRequest | AtNotification | AtWait, Act: wire.HoldRequest, Timed: true, duringCalls: []string{CallAcquire},
		About: "the time limit of the recipe's own acquire ends; only drivers that offer limit"},
}

func FindStepFault(name string) *StepFault {
	if i := slices.IndexFunc(StepFaults, func(f *StepFault) bool { return f.Name == name }); i >= 0 {
		return StepFaults[i]
	}
	return nil
}

// NamedFaults returns the faults that a full audit omits unless they are named.
func NamedFaults() []string {
	return units.Names(slices.DeleteFunc(slices.Clone(StepFaults), func(f *StepFault) bool { return !f.OptIn }), func(f *StepFault) string { return f.Name })
}

func (f *StepFault) cancels() bool { return f.Name == "cancel" }

func (f *StepFault) appliesTo(s SeenStep, subject recipes.Subject) bool {
	impossible := f.cancels() && subject.NoCancel || f.Timed && !subject.SupportsLimit ||
		f.process && subject.Start == nil && subject.PipeLatency == nil
	return !impossible && f.stepKinds&s.Kind() != 0 && (f.only == nil || f.only(s, subject)) &&
		(len(f.duringCalls) == 0 || slices.Contains(f.duringCalls, s.Call))
}

// firstHoldOrWait selects one client that holds and one that waits: an election affects all clients of an episode.
func firstHoldOrWait(s SeenStep, _ recipes.Subject) bool {
	return s.Nth == 1 && (s.Op == CallHold && s.Client() == 0 || s.Op == CallWait && s.Client() == 1)
}

// inLine reports whether the client has a place in line at the step.
func inLine(s SeenStep, subject recipes.Subject) bool {
	return (s.Op == CallHold || s.Op == CallWait) && isContended(subject)
}

func firstCreate(s SeenStep, subject recipes.Subject) bool {
	return s.Role == grantRoles[0] && strings.HasPrefix(s.Op, "create") && s.Nth == 1
}
