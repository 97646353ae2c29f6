package metrics

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// Names of the metrics.
const (
	HandoffLatency = "handoff.latency"
	// HandoffLatencyDrain is separate, because the line of a drain is on average half as long as the
	// line of a churn, where all clients are always in line.
	HandoffLatencyDrain = "handoff.latency.drain"
	HandoffFloor        = "handoff.floor"
	MemberFsync         = "member.fsync"
	MemberWrite         = "member.write"

	// The five stages, from FailoverDetect on, add up to the latency of a failover in which the session
	// had to expire first. Without the members' logs, FailoverDetect and FailoverCommit are absent, and
	// FailoverExpire is the whole time until the commit.
	FailoverLatency   = "failover.latency"
	LeaderlessTime    = "leaderless.time"
	BeliefOverlap     = "belief.overlap"
	FailoverPredicted = "failover.predicted.max"
	FailoverOutside   = "failover.out_of_bounds"
	FailoverDetect    = "failover.detect"
	FailoverExpire    = "failover.expire"
	FailoverCommit    = "failover.commit"
	FailoverNotify    = "failover.notify"
	FailoverRelist    = "failover.relist"

	// Holders whose process was paused past their session timeout.
	PausedBelief   = "pause.false_belief"
	PausedNotice   = "pause.notice"
	PausedUnaware  = "pause.unaware_writes"
	PausedAccepted = "pause.writes_accepted"
	PausedFenced   = "pause.writes_fenced"

	Capacity = "capacity"
	Unserved = "open_loop.unserved"

	QueueLatency       = "queue.latency"
	queueLatencyFaults = "queue.latency.faults"
	QueueYield         = "queue.yield"
	QueueRequests      = "queue.requests"
	QueueUndelivered   = "queue.undelivered"

	AcquireLatency   = "acquire.latency"
	Throughput       = "throughput" // the rate of grants, or of items taken
	Fairness         = "fairness"
	Overtaken        = "overtaken.max"
	OperationsFailed = "operations.failed"

	outageTime      = "outage.time"
	RecoveryTime    = "recovery.time"
	ConnectionsPeak = "connections.peak"

	ConnectLatency    = "connect.latency"
	ConnectAll        = "connect.all"
	ReconnectLatency  = "reconnect.latency"
	ReconnectAll      = "reconnect.all"
	SessionsExpired   = "sessions.expired"
	SessionHeap       = "session.heap"
	SessionStacks     = "session.stacks"
	SessionGoroutines = "session.goroutines"

	MemberQueue       = "member.queue"
	MemberLatency     = "member.latency.max"
	MemberLatencyMean = "member.latency.mean"
	MemberConnections = "member.connections"
	MemberSilent      = "member.silent"

	FanoutNotifications = "fanout.notifications"
	FanoutRequests      = "fanout.requests"
	FanoutBytes         = "fanout.bytes"
	FlapNotifications   = "flap.notifications"

	PipeRoundtrip = "pipe.roundtrip" // between the harness and a driver
	AgentsClock   = "agents.clock"
)

// families are all metrics, the most important first.
var families = []Family{
	{About: "Hand-offs:", Definitions: []Definition{
		{Name: HandoffLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "one hand-off", Head: "hand-off",
			Shown: []string{"p50", "p99"}, Main: "p50", Decides: true,
			Help: "Time from the call to release until the next client's acquire returns, with no fault active. For a barrier, from the last party's call to enter until each party has passed. Measured under contention if the scenario has a contention phase"},
		latency(HandoffLatencyDrain,
			"Like handoff.latency, but during a drain, where the line is half as long on average"),
	}},
	{About: "Stages of a hand-off in a drain, from the traffic on the wire, in order; they add up to the hand-off:",
		Definitions: handoffStages()},
	{About: "For comparison with these stages, in the same drain:", Definitions: []Definition{
		latency(HandoffFloor, "A delete and a read, one after the other, by a client of zkbench, while all others wait"),
		{Name: MemberFsync, Unit: "ns", Better: Lower, Help: "Mean time of the members' forced writes of their transaction logs, by their own counters (mntr: fsynctime), which round each down to a millisecond: the true mean is up to 1 ms longer"},
		{Name: MemberWrite, Unit: "ns", Better: Lower, Help: "Mean time of a request that writes, from its arrival at a member to the reply, by the members' own counters (mntr: updatelatency), which round each down to a millisecond: the true mean is up to 1 ms longer"},
	}},
	{About: "Cost of the holder's failure, in a churn or failover scenario:", Definitions: []Definition{
		{Name: FailoverLatency, Unit: "ns", Better: Lower, Distribution: true, PerPhase: true, Noun: "a failover", Head: "failover",
			Shown: []string{"p50"}, Main: "p50", Help: "Time from the fault that affected the holder to the next grant"},
		{Name: LeaderlessTime, Unit: "ns", Better: Lower, Distribution: true, Noun: "a leaderless time", Head: "leaderless", Shown: []string{"p50"},
			Help: "Part of a failover, or of a change of leader in a succession, during which no client believed that it held the lock"},
		latency(BeliefOverlap,
			"Time during which the previous holder still believed that it held the lock although the next client held it: exposure, not a violation; usually 0"),
		{Name: FailoverPredicted, Unit: "ns", Better: Lower, Help: "Longest failover predicted by ZooKeeper's timing rules for the causes and timeouts of the trial"},
		{Name: FailoverOutside, Unit: "1", Better: Lower, Help: "Rounds whose failover took less or more time than predicted"},
		latency(FailoverDetect, "First stage of a failover in which the session had to expire: from the fault until the session timeout has passed"),
		latency(FailoverExpire, "Then until the leader expired the session: rounding to a tick, and the lag of a follower"),
		latency(FailoverCommit, "Then until the first member had removed the node"),
		latency(FailoverNotify, "Then until the notification reached the next client"),
		latency(FailoverRelist, "Then until the next client's acquire returned"),
	}},
	{About: "A holder that is paused until its session has expired, and then resumed (scenario paused-holder):",
		Definitions: []Definition{
			{Name: PausedBelief, Unit: "ns", Better: Lower, Distribution: true, Shown: []string{"p50"},
				Help: "How long a paused holder still believed that it held the lock after the next client was granted; if it was never notified, until the wait for the notification ended"},
			latency(PausedNotice,
				"Time from the resume until the holder was notified of the loss; absent if it never was"),
			{Name: PausedUnaware, Unit: "1", Better: Lower,
				Help: "Rounds in which the holder wrote again before it was notified of the loss; count is the number of rounds"},
			{Name: PausedAccepted, Unit: "1", Better: Lower,
				Help: "Late writes to an unfenced node that succeeded. A write is late if it was pending at the pause, or was made after the pause and before the notification; count is the number of late writes. Absent if the driver does not offer write"},
			{Name: PausedFenced, Unit: "1", Better: Neither,
				Help: "Late writes to the fenced resource that were rejected because of their token; count is the number of late writes to it"},
		}},
	{About: "Open loops (streams):", Definitions: []Definition{
		{Name: Capacity, Unit: "1/s", Better: Higher, PerPhase: true, Shown: []string{"value"}, Main: "value", Decides: true,
			Help: "Highest arrival rate of a ramp at which the backlog does not grow; the final rate if it never grew; the lowest capacity if there are several ramps"},
		{Name: Unserved, Unit: "1", Better: Lower,
			Help: "Scheduled acquires that were not granted by the end of the phase; count is the number scheduled. For queues see queue.undelivered"},
	}},
	{About: "Queues:", Definitions: []Definition{
		{Name: QueueLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "delivery of an item", Head: "queue",
			Shown: []string{"p50", "p99"}, Main: "p50", Decides: true,
			Help: "Time from the scheduled start of a put until the take of its item returns"},
		latency(queueLatencyFaults,
			"Like queue.latency, but in phases with injected faults"),
		{Name: QueueYield, Unit: "1/notification", Better: Higher,
			Help: "Items taken per notification, in streams: below 1 if some notifications yield no item, above 1 if one notification serves several items"},
		{Name: QueueRequests, Unit: "1/item", Better: Lower, Help: "Requests per item taken, in streams"},
		{Name: QueueUndelivered, Unit: "1", Better: Lower, Help: "Scheduled items that were not put and taken by the end of the phase"},
	}},
	{About: "Acquiring:", Definitions: []Definition{
		{Name: AcquireLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "acquiring", Head: "acquire", Shown: []string{"p50"},
			Help: "Time from the scheduled start of an acquire until it was granted; excludes ramps, and drains unless there are no other acquires"},
	}},
	{About: "Rates, in phases whose pace is set by the clients or by an arrival rate:", Definitions: []Definition{
		{Name: Throughput, Unit: "1/s", Better: Higher, PerPhase: true, Shown: []string{"value"}, Main: "value", Decides: true,
			Help: "Grants, or items taken, per second; excludes drains and ramps"},
		{Name: Fairness, Unit: "1", Better: Higher,
			Help: "Jain's fairness index of the contenders' grants: 1 if all N contenders had equally many, 1/N if one contender had all; of several paths, the mean"},
		{Name: Overtaken, Unit: "1", Better: Lower,
			Help: "Largest number of grants to other clients while one client waited, in phases whose pace is set by the clients, with no fault active; expected: the starvation limit, 10 per contender"},
		{Name: OperationsFailed, Unit: "1", Better: Lower,
			Help: "Acquires, releases, puts and takes that returned an error with no fault active or recently healed, in phases whose pace is set by the clients; excludes operations that zkbench canceled and acquires with a time limit"},
	}},
	{About: "Cost of faults for all clients:", Definitions: []Definition{
		latency(outageTime,
			"Time during a fault in which no client held the lock although a client waited"),
		latency(RecoveryTime,
			"Time from the start of healing until all members serve requests, one of them leads, and each has seen a write"),
		{Name: ConnectionsPeak, Unit: "1/s", Better: Lower,
			Help: "Highest rate of new connections to the members, over about one second"},
	}},
	{About: "Many sessions (connect):", Definitions: []Definition{
		{Name: ConnectLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "opening a session", Head: "connect", Shown: []string{"p50", "p99"}, Main: "p50",
			Help: "Time from opening a session until it is connected"},
		{Name: ConnectAll, Unit: "ns", Better: Lower, Shown: []string{"value"}, Main: "value",
			Help: "Time from opening the first session until all are connected; count is the number of sessions"},
		{Name: ReconnectLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "reconnecting to a member", Head: "reconnect", Shown: []string{"p50", "p99"}, Main: "p50",
			Help: "Time from the loss of a session's connection until the session is connected again"},
		{Name: ReconnectAll, Unit: "ns", Better: Lower, Shown: []string{"value"}, Main: "value",
			Help: "Longest time during which not all sessions were connected: from the first loss until every session that returned was connected; count is the number that returned"},
		{Name: SessionsExpired, Unit: "1", Better: Lower, Shown: []string{"value"}, Main: "value",
			Help: "Sessions that expired, or whose deadline passed without a server response, although no fault affected their clients; count is all sessions opened"},
		{Name: SessionHeap, Unit: "B/session", Better: Lower, Shown: []string{"value"}, Main: "value",
			Help: "Live heap of this process per session, including the tap on its connection: with all sessions open, minus the heap before the first; count is the number of sessions"},
		{Name: SessionStacks, Unit: "B/session", Better: Lower, Shown: []string{"value"}, Main: "value",
			Help: "Like session.heap, but for goroutine stacks, which are not part of the heap"},
		{Name: SessionGoroutines, Unit: "1/session", Better: Lower, Shown: []string{"value"}, Main: "value",
			Help: "Number of goroutines per session"},
	}},
	{About: "The members' load in a connect, as they report it (mntr):", Definitions: []Definition{
		{Name: MemberQueue, Unit: "1", Better: Lower, Shown: []string{"value"}, Main: "value",
			Help: "Maximum number of requests that a member had received but not answered; count is the number of answers from members"},
		{Name: MemberLatency, Unit: "ns", Better: Lower, Help: "A member's longest request latency, to the millisecond"},
		{Name: MemberLatencyMean, Unit: "ns", Better: Lower, Help: "Mean request latency of the slowest member, over the phase or since its start"},
		{Name: MemberConnections, Unit: "1", Help: "Maximum number of client connections of a member"},
		{Name: MemberSilent, Unit: "1", Better: Lower, Help: "Queries for the load that members did not answer; count is the number of queries"},
	}},
	{About: "Counts, which do not depend on time:", Definitions: []Definition{
		{Name: FanoutNotifications, Unit: "1/handoff", Better: Lower, Exact: true,
			Help: "Notifications per hand-off of a drain, counted on the clients' connections, with the value of the recipe's formula (expected) and the members' counters (servers)"},
		{Name: FanoutRequests, Unit: "1/handoff", Better: Lower, Exact: true, Help: "Requests per hand-off, counted in the same way"},
		{Name: FanoutBytes, Unit: "B/handoff", Better: Lower, Exact: true, Slack: 0.01, // includes pings
			Help: "Bytes per hand-off, sent and received"},
		{Name: FlapNotifications, Unit: "1/flap", Better: Lower, Exact: true,
			Help: "Notifications that a waiter causes when it loses its session and rejoins"},
	}},
	{About: "Overhead between the harness and a subject in a separate process:", Definitions: []Definition{
		{Name: PipeRoundtrip, Unit: "ns", Better: Lower, Fields: []string{"count", "p50", "p99"},
			Help: "Round trip of a request through the driver's pipe (p50, p99). Latencies of a driver that reports " +
				"the times of its recipe's calls exclude it; the times of other drivers include it"},
		{Name: AgentsClock, Unit: "ns", Better: Lower,
			Help: "Largest uncertainty of an agent's clock. A latency that begins and ends on one agent is exact; " +
				"a time that begins on one client and ends on another (hand-off, failover) may be off by twice this value. Belief intervals are narrowed by it"},
	}},
}

func latency(name, help string) Definition {
	return Definition{Name: name, Unit: "ns", Better: Lower, Distribution: true, Help: help}
}

// Stages are the stages of a failover in order.
var Stages = []string{FailoverDetect, FailoverExpire, FailoverCommit, FailoverNotify, FailoverRelist}

// HandoffStage is a part of a hand-off. Name is its metric, Help the help text of the metric.
type HandoffStage struct {
	Name, Label, Help string
	until             func(*history.Handoff) time.Duration
}

// HandoffStages are the stages of a hand-off in order.
var HandoffStages = []HandoffStage{
	{"handoff.stage.release", "release", "From the call to release until its write leaves the client: the recipe's own time", func(h *history.Handoff) time.Duration { return h.Sent }},
	{"handoff.stage.commit", "commit", "Until the reply to that write, or the notification if that comes first: the members' time to commit and apply it", func(h *history.Handoff) time.Duration { return h.Applied }},
	{"handoff.stage.notify", "notification", "Until the notification reaches the next client", func(h *history.Handoff) time.Duration { return h.Notified }},
	{"handoff.stage.react", "reaction", "From the notification until the next client sends its first request: the client's own time; 0 if it sends none", func(h *history.Handoff) time.Duration { return h.Asked }},
	{"handoff.stage.check", "check", "Until the last reply to the next client's requests", func(h *history.Handoff) time.Duration { return h.Answered }},
	{"handoff.stage.grant", "grant", "Until the next client's acquire returns: the client's own time", func(h *history.Handoff) time.Duration { return h.Granted }},
}

// MedianStages returns the median of each stage of a hand-off; nil if a stage was not measured.
func MedianStages(all map[string]Metric) (parts []time.Duration) {
	for _, s := range HandoffStages {
		m := all[s.Name]
		if m.P50 == nil {
			return nil
		}
		parts = append(parts, time.Duration(*m.P50))
	}
	return parts
}

func handoffStages() (out []Definition) {
	for _, s := range HandoffStages {
		out = append(out, latency(s.Name, s.Help))
	}
	return out
}
