package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/agents"
	"github.com/zkbench/zkbench/scenarios/stage"
)

func (t *trial) recordSession(e wire.Event) {
	if onResume := t.OnResume.Load(); onResume != nil && e.Kind == wire.Connected && e.Resumed {
		(*onResume)(e)
	}
	switch {
	case e.Kind == wire.Connected && !e.Resumed:
		t.sessions.Store(e.Session, true)
		t.Record.Record(&history.Session{At: e.At, Event: history.Opened, Client: e.Client, Session: e.Session, Timeout: e.Timeout})
	case e.Kind == wire.Connected && e.Lost > 0:
		t.Record.Record(&history.Reconnected{At: e.At, Client: e.Client, Session: e.Session, Lost: e.Lost})
	case e.Kind == wire.Expired:
		t.Record.Record(&history.Session{At: e.At, Event: history.Expired, Client: e.Client, Session: e.Session})
	case e.Kind == wire.Deadline:
		t.Record.Record(&history.Session{At: e.At, Event: history.Deadline, Client: e.Client, Session: e.Session})
	case e.Kind == wire.ReplyLost:
		t.Record.Record(&history.LostReply{At: e.At, Client: e.Client, Session: e.Session, Cxid: e.Request.Xid,
			Request: e.Request.Op.String(), Sent: e.Request.Sent})
	}
}

func (t *trial) recordPipe() {
	if pipe := t.Cell.Subject.PipeLatency; pipe != nil {
		r := &history.Pipe{At: t.Clock.Now()}
		r.P50, r.P99, r.Count = pipe()
		if begun, remote := t.Tap.(*agents.Trial); remote {
			r.Clock = begun.ClockError()
		}
		t.Record.Record(r)
	}
}

// recordLostAgent records that the clients of a lost agent are unknown since the last message from it:
// their beliefs end there.
func (t *trial) recordLostAgent(agent string, clients []int, since time.Duration) {
	for _, n := range clients {
		t.Record.Record(&history.Session{At: since, Event: history.Killed, Client: n, Session: t.Tap.Client(n).Session().ID})
	}
	t.Holder.AllowRelease()
	now := t.Clock.Now()
	t.Record.Record(&history.Window{Fault: "agent.lost", Target: fmt.Sprintf("agent %s, with %s", agent, units.Plural(len(clients), "client")), Client: -1,
		Start: since, End: now, Proof: fmt.Sprintf("the connection to the agent ended or was silent for too long; the last message arrived %v earlier", (now - since).Round(time.Millisecond))})
}

// unavailableCheck is the interval at which a trial checks that its ensemble can serve.
const unavailableCheck = time.Second

// watchEnsemble calls fail, with an error that names the members that are down, if the ensemble cannot serve
// while no fault of members is active, for longer than sessions need to connect again after a leader election.
// watchEnsemble returns after that, or when ctx ends. It queries members only while no reply reaches the clients, so
// that a healthy ensemble has no extra load.
func (t *trial) watchEnsemble(ctx context.Context, fail func(error)) {
	limit := 15*time.Second + t.Scenario.SessionTimeout
	served, replies := time.Now(), int64(-1)
	for stage.Pause(ctx, unavailableCheck) == nil {
		if now := t.Tap.Totals().Replies; now != replies || t.MemberFaults.Load() > 0 {
			served, replies = time.Now(), now
			continue
		}
		down := describeUnavailable(ctx, t.Members.Ensemble)
		if down == "" {
			served = time.Now()
		} else if silent := time.Since(served); silent > limit && ctx.Err() == nil {
			fail(fmt.Errorf("%w: it could not serve for %v although no injected fault was active: %s", stage.ErrUnhealthy, silent.Round(time.Second), down))
			return
		}
	}
}

// describeUnavailable describes the members that are down if too few are left for a quorum; otherwise it
// returns "". A member that accepts connections but gives no status counts as serving.
func describeUnavailable(ctx context.Context, e *ensembles.Ensemble) string {
	var down []string
	for _, s := range ensembles.Status(ctx, e) {
		if s.Serves() || errors.Is(s.Err, ensembles.ErrNotWhitelisted) || errors.Is(s.Err, ensembles.ErrEmptyReply) {
			return "" // a member serves only while it has a quorum
		}
		down = append(down, fmt.Sprintf("%s: %v", s.Member.Name, s.Err))
	}
	return strings.Join(down, ", ")
}
