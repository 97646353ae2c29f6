// Package history writes and reads the history of a trial: the ordered records of every operation,
// fault and event, on one monotonic clock. All conclusions about a trial are derived from its history.
//
//	w, err := history.Create("history/mine.jsonl.zst", history.Header{Trial: "mine", Cell: history.Cell{Subject: "lock/mine"}})
//	w.Sample(history.Sample{Op: history.Acquire, Call: called, Return: clock.Now(), Outcome: history.OK})
//	err = w.Close()
//
//	h, err := history.Open("history/mine.jsonl.zst")
//	for n, err := range h.Records {
//		switch r := n.Record.(type) {
//		case *history.Sample:
//		case *history.Window:
//		}
//	}
//
// A file has one JSON value per line, compressed with zstd: a [Header], then records such as
// {"sample":{...}} or {"session":{...}}, then {"end":{"records":N}}.
package history

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Record is an entry of a history: a [Sample], [Window], [PhaseStart], [Session] or another struct of this package.
type Record interface {
	// Time returns the latest time in the record, counted from the trial's start.
	Time() time.Duration
}

// Numbered is a record with its number, from 1. In the file it is on line N+1.
type Numbered struct {
	N int
	Record
}

var kinds = map[string]reflect.Type{
	"sample":      reflect.TypeFor[Sample](),
	"fault":       reflect.TypeFor[Window](),
	"phase.start": reflect.TypeFor[PhaseStart](),
	"phase.end":   reflect.TypeFor[PhaseEnd](),
	"arrivals":    reflect.TypeFor[Arrivals](),
	"waiting":     reflect.TypeFor[Waiting](),
	"unplayed":    reflect.TypeFor[TrialFailure](),
	"lost.reply":  reflect.TypeFor[LostReply](),
	"session":     reflect.TypeFor[Session](),
	"joined":      reflect.TypeFor[Joined](),
	"leaving":     reflect.TypeFor[Leaving](),
	"emptied":     reflect.TypeFor[Emptied](),
	"holds":       reflect.TypeFor[Holds](),
	"traffic":     reflect.TypeFor[Traffic](),
	"pipe":        reflect.TypeFor[Pipe](),
	"effort":      reflect.TypeFor[Effort](),
	"failover":    reflect.TypeFor[Failover](),
	"paused":      reflect.TypeFor[Paused](),
	"recovered":   reflect.TypeFor[Recovered](),
	"connections": reflect.TypeFor[Connections](),
	"connected":   reflect.TypeFor[Connected](),
	"reconnected": reflect.TypeFor[Reconnected](),
	"footprint":   reflect.TypeFor[Footprint](),
	"member.load": reflect.TypeFor[MemberLoad](),
	"claim.check": reflect.TypeFor[ClaimCheck](),
	"snapshot":    reflect.TypeFor[Snapshot](),
	"commit":      reflect.TypeFor[Commit](),
	"commits.end": reflect.TypeFor[CommitsEnd](),
	"step":        reflect.TypeFor[Step](),
	"self":        reflect.TypeFor[HarnessLoad](),
	"handoff":     reflect.TypeFor[Handoff](),
	"floor":       reflect.TypeFor[Floor](),
}

var names = func() map[reflect.Type]string {
	out := map[reflect.Type]string{}
	for name, t := range kinds {
		out[reflect.PointerTo(t)] = name
	}
	return out
}()

func (r *Sample) Time() time.Duration       { return r.Return }
func (r *Window) Time() time.Duration       { return max(r.Start, r.End) }
func (r *Recovered) Time() time.Duration    { return r.At }
func (r *Pipe) Time() time.Duration         { return r.At }
func (r *Connections) Time() time.Duration  { return r.At }
func (r *Connected) Time() time.Duration    { return r.At }
func (r *Reconnected) Time() time.Duration  { return r.At }
func (r *Footprint) Time() time.Duration    { return r.At }
func (r *MemberLoad) Time() time.Duration   { return r.At }
func (r *PhaseStart) Time() time.Duration   { return r.At }
func (r *PhaseEnd) Time() time.Duration     { return r.At }
func (r *Arrivals) Time() time.Duration     { return r.At }
func (r *Waiting) Time() time.Duration      { return r.At }
func (r *TrialFailure) Time() time.Duration { return r.At }
func (r *LostReply) Time() time.Duration    { return r.At }
func (r *Session) Time() time.Duration      { return r.At }
func (r *Joined) Time() time.Duration       { return r.At }
func (r *Leaving) Time() time.Duration      { return r.At }
func (r *Emptied) Time() time.Duration      { return r.At }
func (r *Holds) Time() time.Duration        { return r.At }
func (r *Traffic) Time() time.Duration      { return r.At }
func (r *Effort) Time() time.Duration       { return r.At }
func (r *Failover) Time() time.Duration     { return r.At }
func (r *Paused) Time() time.Duration       { return r.At }
func (r *ClaimCheck) Time() time.Duration   { return r.At }
func (r *Snapshot) Time() time.Duration     { return r.At }
func (r *Step) Time() time.Duration         { return r.At }
func (r *HarnessLoad) Time() time.Duration  { return r.At }
func (r *Handoff) Time() time.Duration      { return r.Granted }
func (r *Floor) Time() time.Duration        { return r.At }

// Clock is the monotonic clock of a trial. Copies of a Clock show the same time.
type Clock struct{ start time.Time }

// Start returns a Clock that begins at 0 now.
func Start() Clock { return Clock{start: time.Now()} }

// Now returns the time since [Start]. It is monotonic: setting the machine's clock has no effect.
func (c Clock) Now() time.Duration { return time.Since(c.start) }

// At converts t, a reading of this process's clock, to the trial's clock.
func (c Clock) At(t time.Time) time.Duration { return t.Sub(c.start) }

type batch struct {
	others  []bool
	samples []Sample
	rest    []Record
}

// newBatch returns a batch with the usual capacity, so that it does not grow during a measurement.
func newBatch() *batch {
	return &batch{others: make([]bool, 0, batchSize), samples: make([]Sample, 0, batchSize), rest: make([]Record, 0, batchSize/4)}
}

func (b *batch) reset() {
	clear(b.samples) // releases the strings
	clear(b.rest)
	b.others, b.samples, b.rest = b.others[:0], b.samples[:0], b.rest[:0]
}

// Handoff is a hand-off of a grant in a drain, as the tap recorded it. Its times are in order; the time
// of a step that did not occur equals the time before it.
type Handoff struct {
	Phase    string        `json:"phase"`
	Round    int           `json:"round"`
	From     int           `json:"from"`     // the client that released the grant
	To       int           `json:"to"`       // the client that received the grant
	Released time.Duration `json:"released"` // release was called
	Sent     time.Duration `json:"sent"`     // the write of release left the client
	Applied  time.Duration `json:"applied"`  // the reply to that write, or the notification if it came first
	Notified time.Duration `json:"notified"` // the notification reached the next client
	Asked    time.Duration `json:"asked"`    // the next client's first request afterwards
	Answered time.Duration `json:"answered"` // the last reply that the next client received
	Granted  time.Duration `json:"granted"`  // the next client's acquire returned
}

// Floor is the time in which a client of the harness deleted a node and then read one, while all clients of the
// trial waited: a hand-off needs a write and usually a read.
type Floor struct {
	At    time.Duration `json:"at"`
	Phase string        `json:"phase"`
	Took  time.Duration `json:"took"`
}

// Paused is a round in which a holder's process was stopped for longer than its session timeout, while
// another client was granted, and then resumed. The client's Write and Effect samples after that are
// its late writes. The first sample of each kind was pending when the process was stopped.
type Paused struct {
	At      time.Duration `json:"at"` // time of the notification, or end of the wait for it
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Client  int           `json:"client"`  // the client that was paused
	Next    int           `json:"next"`    // the client that was granted during the pause
	Stopped time.Duration `json:"stopped"` // the signal to stop
	Granted time.Duration `json:"granted"` // return of the other client's grant
	Resumed time.Duration `json:"resumed"` // the signal to continue
	// Notified is the time when the client was notified that it no longer holds; 0 if it was not. By is the
	// kind of notification: an event (suspended, lost, ended), or holds, the recipe's own answer.
	Notified time.Duration `json:"told,omitempty"`
	By       string        `json:"by,omitempty"`
	Holds    string        `json:"holds,omitempty"` // the recipe's answer after the client resumed: yes or no; "" if there was none
}

// HarnessLoad contains the harness's measurements of itself during the trial, with their limits.
type HarnessLoad struct {
	At         time.Duration `json:"at"`
	Ticks      int64         `json:"ticks"`      // of the harness's own timer
	LateTicks  int64         `json:"late_ticks"` // more than 10 ms late
	LateMax    time.Duration `json:"late_max"`
	Records    int64         `json:"records"`
	Lost       int64         `json:"lost"` // records; must be 0
	MaxBacklog int64         `json:"max_backlog"`
	CPU        *float64      `json:"cpu,omitempty"`         // share of all processors used by this process
	MachineCPU *float64      `json:"machine_cpu,omitempty"` // share used by all processes
	Stolen     *float64      `json:"stolen,omitempty"`      // share used by other virtual machines
	Limits     HarnessLimits `json:"limits"`
}

type HarnessLimits struct {
	Late       time.Duration `json:"late"`
	LateShare  float64       `json:"late_share"` // of all ticks
	Backlog    int64         `json:"backlog"`    // records
	CPU        float64       `json:"cpu"`
	MachineCPU float64       `json:"machine_cpu"`
}

type SessionEvent string

const (
	Opened    SessionEvent = "opened"    // Timeout is the granted value
	Suspended SessionEvent = "suspended" // client notified: connection lost, session state unknown
	Restored  SessionEvent = "restored"  // client notified: the same session, ownership checked
	Lost      SessionEvent = "lost"      // client notified: the session and every grant bound to it have ended
	Ended     SessionEvent = "ended"     // client notified: the grant has ended although the session lives: revoked, resigned
	Expired   SessionEvent = "expired"   // on the wire: a server's message about the expiry has reached the client
	Closed    SessionEvent = "closed"    // the client closed it
	Deadline  SessionEvent = "deadline"  // its deadline passed without a reply: belief ends as if suspended
	Killed    SessionEvent = "killed"    // the harness killed the client
)

type Session struct {
	At      time.Duration `json:"at"`
	Event   SessionEvent  `json:"event"`
	Client  int           `json:"client"`
	Session int64         `json:"session,omitempty"`
	Token   int64         `json:"token,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // opened: negotiated
}

// Arrivals is the rate at which operations are due in an open loop. It is recorded before the first
// operation is due.
type Arrivals struct {
	At    time.Duration `json:"at"` // time from which on operations are due
	Phase string        `json:"phase"`
	For   time.Duration `json:"for"`
	Rate  float64       `json:"rate"` // per second; for a ramp, at its beginning
	// RateTo is the rate at the end of a ramp; 0 if the rate is constant. Steps is the number of
	// equal steps of the ramp; 0 if it is continuous.
	RateTo float64 `json:"rate_to,omitempty"`
	Steps  int     `json:"steps,omitempty"`
}

func (a *Arrivals) Ramp() bool { return a != nil && a.RateTo > 0 }

// RateAt returns the rate per second at the time since, counted from At.
func (a *Arrivals) RateAt(since time.Duration) float64 {
	if !a.Ramp() || a.For <= 0 {
		return a.Rate
	}
	part := min(max(since.Seconds()/a.For.Seconds(), 0), 1)
	if a.Steps > 1 {
		part = float64(min(int(part*float64(a.Steps)), a.Steps-1)) / float64(a.Steps-1)
	}
	return a.Rate + part*(a.RateTo-a.Rate)
}

// Failover is a round of a failover: the cause, the times of the steps until the next grant, and
// the prediction. A time is 0 if the step was not recorded.
type Failover struct {
	At      time.Duration `json:"at"` // time when the record was complete
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Cause   string        `json:"cause"`
	Client  int           `json:"client"` // the holder
	Session int64         `json:"session"`
	Token   int64         `json:"token"`
	Path    string        `json:"path"`
	Timeout time.Duration `json:"timeout"`

	Injected    time.Duration `json:"injected"`
	LastRequest time.Duration `json:"heard,omitempty"`     // the holder sent its last request that the servers are known to have received
	Expired     time.Duration `json:"expired,omitempty"`   // the leader expired the session
	Committed   time.Duration `json:"committed,omitempty"` // the first member removed the node
	Notified    time.Duration `json:"woken,omitempty"`     // the notification reached the next client
	Granted     time.Duration `json:"granted,omitempty"`   // the next grant returned
	Next        int           `json:"next"`                // the client that was granted next; -1 if none
	Suspended   time.Duration `json:"suspended,omitempty"` // the holder was notified of suspension or loss
	Restored    time.Duration `json:"restored,omitempty"`  // the holder was notified that it still holds: there was no hand-off

	Least   time.Duration `json:"least"`
	Most    time.Duration `json:"most"`
	Mean    time.Duration `json:"mean,omitempty"`    // average; 0 if there is no formula
	Expires bool          `json:"expires,omitempty"` // the session must expire first
	// Stalled is the time for which tasks of the machine waited for processors, memory or I/O during the
	// failover: a bound for the delay that is due to the machine's load.
	Stalled time.Duration `json:"stalled,omitempty"`
}

// Connected means that a client has opened its session. Call is the time of the call.
type Connected struct {
	At     time.Duration `json:"at"`
	Phase  string        `json:"phase"`
	Client int           `json:"client"`
	Call   time.Duration `json:"call"`
}

// Reconnected means that a session has moved to another connection.
type Reconnected struct {
	At      time.Duration `json:"at"`
	Client  int           `json:"client"`
	Session int64         `json:"session"`
	Lost    time.Duration `json:"lost"` // end of the previous connection
}

// Footprint is the memory that open sessions use in this process: the difference between the memory
// with all sessions open and before, each after a garbage collection.
type Footprint struct {
	At         time.Duration `json:"at"`
	Phase      string        `json:"phase"`
	Sessions   int64         `json:"sessions"`
	Heap       int64         `json:"heap"`
	Stacks     int64         `json:"stacks"`
	Goroutines int64         `json:"goroutines"`
}

// MemberLoad is a member's reply to a query for its load (mntr).
type MemberLoad struct {
	At     time.Duration `json:"at"`
	Phase  string        `json:"phase"`
	Member string        `json:"member"`
	Err    string        `json:"err,omitempty"` // why there is no reply; the fields below are then nil

	Opening     bool   `json:"opening,omitempty"`     // sessions were still being opened
	Outstanding *int64 `json:"outstanding,omitempty"` // requests without a reply
	Connections *int64 `json:"connections,omitempty"` // of clients
	// LatencyMean and LatencyMax are over the requests since the member's counters were reset, when
	// the phase began or the member was started. nil if they cannot be reset.
	LatencyMean *time.Duration `json:"latency_mean,omitempty"`
	LatencyMax  *time.Duration `json:"latency_max,omitempty"`
}

// Window is a fault and the time during which it was active. It is recorded when the fault is healed.
type Window struct {
	Fault  string `json:"fault"`  // such as "session.close"
	Target string `json:"target"` // such as "client 17 (holder)" or "zk2 (leader)"
	Client int    `json:"client"` // the client that the fault hit; -1 for members
	// Served are further clients that the fault may affect: the clients that an isolated member
	// continued to serve, of which they had no knowledge; the other clients in the process that was hit;
	// or all clients during an outage of the ensemble.
	Served []int         `json:"served,omitempty"`
	Start  time.Duration `json:"start"` // the call of Inject
	End    time.Duration `json:"end"`   // time of healing; before Start if it was never healed
	Proof  string        `json:"proof,omitempty"`
	Err    string        `json:"err,omitempty"` // why the effect was not proven; empty if Proof is set
	// CutShort means that the phase ended during this repetition of the fault, which may have been
	// injected, but without proof.
	CutShort bool `json:"cut_short,omitempty"`
	// Inapplicable means that the fault does not apply to the recipe; Err is the reason.
	Inapplicable bool `json:"inapplicable,omitempty"`
	// Operator is the session that deleted the client's nodes; 0 if no session deleted them.
	Operator int64 `json:"operator,omitempty"`
}

// DescribeFault describes a fault and its target. The target may be empty.
func DescribeFault(fault, target string) string {
	if target == "" {
		return fault
	}
	return fault + " on " + target
}

// Recovered is the recovery of the ensemble after a fault that affects members: At is when the ensemble was
// observed to be healthy.
type Recovered struct {
	At      time.Duration `json:"at"`
	Phase   string        `json:"phase"`
	Fault   string        `json:"fault"`
	Healing time.Duration `json:"healing"` // start of healing
}

// Connections is the number of connections that the members accepted, from their own counters.
type Connections struct {
	At    time.Duration `json:"at"`
	Phase string        `json:"phase"`
	Made  int64         `json:"made"`
	Over  time.Duration `json:"over"`
}

// The units of Traffic.Of.
const (
	OfHandoff = "hand-off"
	OfFlap    = "flap" // a waiter loses its session and returns
	OfItem    = "item"
)

// Traffic is the traffic of all clients while the operation Of was done Count times, with the
// prediction of the subject's formula. A pointer is nil if there is no formula, or if the members do
// not report the number.
type Traffic struct {
	At            time.Duration `json:"at"`
	Phase         string        `json:"phase"`
	Round         int           `json:"round,omitempty"`
	Of            string        `json:"of"`
	Count         int64         `json:"count"`
	Notifications int64         `json:"notifications"`
	Requests      int64         `json:"requests"`
	Lists         int64         `json:"lists,omitempty"` // requests for children
	Bytes         int64         `json:"bytes"`           // in both directions

	ExpectedNotifications *int64 `json:"expected_notifications,omitempty"`
	ExpectedRequests      *int64 `json:"expected_requests,omitempty"`
	ServerNotifications   *int64 `json:"server_notifications,omitempty"` // from the members' own counters

	Fsyncs MemberTimes `json:"fsyncs,omitzero"` // forced writes of transaction logs
	Writes MemberTimes `json:"writes,omitzero"` // requests that write, from their arrival to the reply
}

// MemberTimes counts operations of all members, with the sum of their times. The members round the time of each
// operation down to a millisecond.
type MemberTimes struct {
	Count int64         `json:"count"`
	Sum   time.Duration `json:"sum"`
}

func (t MemberTimes) Add(u MemberTimes) MemberTimes {
	return MemberTimes{t.Count + u.Count, t.Sum + u.Sum}
}

func (t MemberTimes) Sub(base MemberTimes) MemberTimes {
	return MemberTimes{t.Count - base.Count, t.Sum - base.Sum}
}

// Effort counts the traffic of one client in a phase, and the calls, connections and writes that explain it.
type Effort struct {
	At            time.Duration `json:"at"`
	Phase         string        `json:"phase"`
	Client        int           `json:"client"`
	Queue         bool          `json:"queue,omitempty"` // the subject is a queue
	Calls         int64         `json:"calls"`           // number of operations called
	Requests      int64         `json:"requests"`
	Notifications int64         `json:"notifications"`
	Connections   int64         `json:"connections"`        // number of connections made
	Writes        int64         `json:"writes,omitempty"`   // number of requests that set the data of a node, without failed ones
	Refusals      int64         `json:"refusals"`           // replies with an error, such as no node
	BackOff       time.Duration `json:"back_off,omitempty"` // waits after failed operations
}

// Pipe summarizes the round-trip times between zkbench and a driver in the trial.
type Pipe struct {
	At    time.Duration `json:"at"`
	P50   time.Duration `json:"p50"`
	P99   time.Duration `json:"p99"`
	Count int           `json:"count"` // round trips
	// Clock is the largest possible error of an agent's clock; 0 without agents.
	Clock time.Duration `json:"clock,omitempty"`
}

const (
	DrainPhase      = "drain"      // all clients wait in line until it is empty; hand-offs are counted
	FlapPhase       = "flap"       // a waiter leaves and returns; operations only check that the line works
	SuccessionPhase = "succession" // clients leave in a given order
	FailoverPhase   = "failover"   // a fault hits one holder per round
	ConnectPhase    = "connect"    // all sessions are opened, and are then idle
)

type Pace string

const (
	ByClients Pace = "clients" // closed loop: each continues as soon as it can
	ByRate    Pace = "rate"    // open loop: operations are due at a rate
	ByHarness Pace = "harness" // each step waits for the effect of the previous step, so that a rate is meaningless
)

type PhaseStart struct {
	At    time.Duration `json:"at"`
	Name  string        `json:"phase"`
	Index int           `json:"index"` // in the scenario, from 0
	Kind  string        `json:"kind"`
	Pace  Pace          `json:"pace"`
	// Contenders is the number of clients that act, from client 0 on; the others only keep their
	// sessions open. 0 means all.
	Contenders int               `json:"contenders,omitempty"`
	Params     map[string]string `json:"params,omitempty"` // the phase's fields in the scenario
}

// PhaseEnd ends the last phase that began with the same Index.
type PhaseEnd struct {
	At    time.Duration `json:"at"`
	Name  string        `json:"phase"`
	Index int           `json:"index"`
	// Stopped is the time when the clients were stopped; later operations do not count for the
	// phase. 0 if they were not stopped: then all operations count.
	Stopped time.Duration `json:"stopped,omitempty"`
}

// Waiting is an operation that was in progress when its phase ended, or when its client was requested
// to stop. Its duration until then counts.
type Waiting struct {
	At     time.Duration `json:"at"`
	Phase  string        `json:"phase"`
	Client int           `json:"client"`
	Op     string        `json:"op"`             // as Sample.Op
	Call   time.Duration `json:"call"`           // when it was called
	Mode   string        `json:"mode,omitempty"` // of an acquire of a read-write lock
}

// TrialFailure means that the trial could not run to its end. Why is the reason.
type TrialFailure struct {
	At           time.Duration `json:"at"`
	Why          string        `json:"why"`
	Inapplicable bool          `json:"inapplicable,omitempty"`
}

// ClaimCheck is the observer's view of the node of a claimed grant, at some time between Asked and At.
// The client claimed the grant during all of that time.
type ClaimCheck struct {
	Asked   time.Duration `json:"asked"`
	At      time.Duration `json:"at"`
	Client  int           `json:"client"`
	Path    string        `json:"path"`
	Token   int64         `json:"token,omitempty"` // the node's czxid; 0 if it did not exist
	Session int64         `json:"session,omitempty"`
	Ahead   int           `json:"ahead,omitempty"` // ephemeral siblings older than the node
}

// Snapshot is the content of the contested parent, unchanged from Asked to At, and the clients that
// waited during all of that time.
type Snapshot struct {
	Asked   time.Duration  `json:"asked"`
	At      time.Duration  `json:"at"`
	Path    string         `json:"path"`
	Queue   bool           `json:"queue,omitempty"` // the subject is a queue
	Nodes   []SnapshotNode `json:"nodes,omitempty"` // only ephemeral nodes
	Items   []SnapshotItem `json:"items,omitempty"` // of a queue
	Waiters []Waiter       `json:"waiters,omitempty"`
	// Unserved means that some client was not granted once within the time limit of the episode.
	Unserved bool `json:"unserved,omitempty"`
}

type SnapshotNode struct {
	Path    string `json:"path"`
	Token   int64  `json:"token"` // its czxid
	Session int64  `json:"session"`
	Client  int    `json:"client"` // the client that was connected with the session; -1 if none
}

// SnapshotItem is an item in the queue. Token is its czxid.
type SnapshotItem struct {
	Path  string `json:"path"`
	Token int64  `json:"token"`
}

// Waiter is a client that was in the same acquire or take, and connected with the same session, during
// the whole time of a Snapshot.
type Waiter struct {
	Client   int   `json:"client"`
	Session  int64 `json:"session"`
	Moved    int64 `json:"moved"`    // its requests, notifications and connections in that time, without pings
	InFlight int64 `json:"inflight"` // its requests without a reply
	// Behind means that the client's member lagged behind at the beginning of the Snapshot, so that
	// a notification may still come.
	Behind bool `json:"behind,omitempty"`
	// Watches is the number of watches of its session that a change in the line can trigger: on the
	// parent or one of its nodes. Others is the number of other watches. nil if not reported.
	Watches *int64 `json:"watches,omitempty"`
	Others  int64  `json:"others,omitempty"`
}

// Step is a step of a subject's protocol, as an audit recorded it in episodes without faults: a row of
// the audit's matrix.
type Step struct {
	At     time.Duration `json:"at"`
	Step   string        `json:"step"`   // such as "next exists #1"; "all" means the whole line
	Faults []string      `json:"faults"` // the faults that apply to the step
}

// LostReply is a request whose reply never reached its client. If it was executed, there is a commit
// with the same session and cxid.
type LostReply struct {
	At      time.Duration `json:"at"` // time from which on no reply could come
	Client  int           `json:"client"`
	Session int64         `json:"session"`
	Cxid    int32         `json:"cxid"`    // the number that the client gave the request
	Request string        `json:"request"` // such as "create" or "delete"
	Sent    time.Duration `json:"sent"`
}

type Outcome string

const (
	OK      Outcome = "ok"
	Failed  Outcome = "failed"  // the operation certainly had no effect
	Unknown Outcome = "unknown" // the operation may have had its effect
)

const (
	Acquire = "acquire" // a lock acquired, or a leadership won
	Release = "release" // of a lock, or a leader's resignation
	Put     = "put"
	Take    = "take"
	Write   = "write"  // to the fenced resource, under a grant
	Effect  = "effect" // a holder's write to an unfenced node, on its own session
)

// Sample is an operation of one client. Due, Call and Return are times on the trial's [Clock].
type Sample struct {
	Client int           `json:"client"`
	Phase  string        `json:"phase,omitempty"`
	Round  int           `json:"round,omitempty"`
	Op     string        `json:"op"`
	Due    time.Duration `json:"due"`    // time when it should have been called; latency counts from here
	Call   time.Duration `json:"call"`   // time when it was called
	Return time.Duration `json:"return"` // time when it returned
	// Clock is the possible error of the clock of the client's process. It was added to an acquire's
	// Return and subtracted from a release's Call, so that the error cannot create a belief. Latencies
	// use the time that the clock showed.
	Clock   time.Duration `json:"clock,omitempty"`
	Outcome Outcome       `json:"outcome"`
	Token   int64         `json:"token,omitempty"`   // czxid of the grant's or item's node, or the subject's own number
	Own     bool          `json:"own,omitempty"`     // the token is the subject's own number
	Session int64         `json:"session,omitempty"` // the session to which the grant is bound
	Path    string        `json:"path,omitempty"`    // of the grant's or item's node
	Item    string        `json:"item,omitempty"`    // queue: ID of the item
	Version int64         `json:"version,omitempty"` // write: the resource's version after the write
	// Zxid is the highest zxid in any reply that had reached the client by then: the client acted on
	// no newer state. 0 if unknown.
	Zxid int64 `json:"zxid,omitempty"`
	// Removed is the path of the last node of whose deletion the client was notified during the
	// operation: the client knows of that transaction too.
	Removed string `json:"removed,omitempty"`
	// Notified means that a notification without a zxid had come. For a barrier: since the reply with
	// Zxid, so that the client may know of later commits. For other recipes: that children had
	// changed, during the operation, so that it may know of the first commit after Zxid.
	Notified bool   `json:"notified,omitempty"`
	Err      string `json:"err,omitempty"`
	// Limit is the caller's time limit for an acquire; 0 if none.
	Limit time.Duration `json:"limit,omitempty"`
	// Stuck means that the operation had not returned long after the client was notified of the loss
	// of its session, that the client had sent no request since, and that zkbench closed the client.
	Stuck bool `json:"stuck,omitempty"`
	// TimedOut means that an acquire with a time limit returned because of that limit.
	TimedOut bool `json:"timedOut,omitempty"`
	// Canceled means that zkbench had canceled the operation before it returned an error.
	Canceled bool   `json:"canceled,omitempty"`
	Mode     string `json:"mode,omitempty"` // of an acquire of a read-write lock: read or write
}

func (s *Sample) check() error {
	switch s.Outcome {
	case OK, Failed, Unknown:
	default:
		return fmt.Errorf("sample with outcome %q, want %q, %q or %q", s.Outcome, OK, Failed, Unknown)
	}
	if !slices.Contains([]string{Acquire, Release, Put, Take, Write, Effect}, s.Op) || !slices.Contains([]string{"", "read", "write"}, s.Mode) {
		return fmt.Errorf("sample with unknown op %q or mode %q", s.Op, s.Mode)
	}
	if s.Return < s.Call {
		return fmt.Errorf("sample that returned (%v) before it was called (%v)", s.Return, s.Call)
	}
	if s.Due < -longest || s.Due > longest {
		return fmt.Errorf("sample that was due at %v: a trial takes at most %v", s.Due, longest)
	}
	return nil
}
