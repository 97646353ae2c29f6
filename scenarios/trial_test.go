package scenarios

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// The commits know of every lost reply whether its request was carried out.
func TestTrial_recordsLostRepliesThatTheCommitsResolve(t *testing.T) {
	t.Parallel()
	records := played(t, `{name: x, subjects: [lock/predecessor], clients: [3], session_timeout: 4s,
		phases: [{name: churn, kind: churn, duration: 6s, hold: 5ms, faults: [
			{at: 300ms, every: 700ms, fault: reply.drop, target: random, params: {op: change}, times: 2},
			{at: 600ms, every: 700ms, fault: request.drop, target: random, params: {op: change}, times: 2}]}]}`)
	carriedOut := func(l *history.LostReply) bool {
		return slices.ContainsFunc(of[*history.Commit](records), func(c *history.Commit) bool {
			return c.Session == l.Session && c.Cxid == l.Cxid && (c.Op == l.Request || l.Request == "multi" || c.Op == history.CommitError)
		})
	}
	lost := of[*history.LostReply](records)
	for _, fault := range []string{"reply.drop", "request.drop"} {
		faults := slices.DeleteFunc(of[*history.Window](records), func(w *history.Window) bool { return w.Fault != fault })
		if len(faults) != 2 {
			t.Fatalf("%d times %s, want 2", len(faults), fault)
		}
		for _, w := range faults {
			var its *history.LostReply // the last before the fault was over: two may wait for one client
			for _, l := range lost {
				if l.Client == w.Client && l.At >= w.Start && l.Sent <= w.End {
					its = l
				}
			}
			if its == nil {
				t.Errorf("%s at %v: no reply was lost", fault, w.Start)
			} else if carriedOut(its) != (fault == "reply.drop") {
				t.Errorf("%s at %v: %+v carried out: %v", fault, w.Start, its, carriedOut(its))
			}
		}
	}
}

func TestTrial_recordsTheDeadlineOfASessionThatIsCutOff(t *testing.T) {
	t.Parallel()
	records := played(t, `{name: x, subjects: [lock/predecessor], clients: [2], session_timeout: 2s,
		phases: [{name: churn, kind: churn, duration: 5s, hold: 1ms, faults: [
			{at: 500ms, fault: session.freeze, target: "1", for: 3s}]}]}`)
	w, sessions := only[*history.Window](t, records), of[*history.Session](records)
	i := slices.IndexFunc(sessions, func(e *history.Session) bool { return e.Event == history.Deadline })
	if i < 0 {
		t.Fatal("no deadline was recorded")
	}
	if e := sessions[i]; e.Client != 1 || e.At < w.Start || e.At > w.Start+3*time.Second {
		t.Errorf("%+v, want client 1 within its timeout of 2s after %v", e, w.Start)
	}
}

// The clients are told to stop before what a fault leaves behind is over.
func TestTrial_recordsWhenClientsAreToldToStop(t *testing.T) {
	t.Parallel()
	records := played(t, `{name: x, subjects: [lock/predecessor], clients: [2], session_timeout: 4s,
		phases: [{name: churn, kind: churn, duration: 500ms, hold: 20ms}]}`)
	start, end := only[*history.PhaseStart](t, records), only[*history.PhaseEnd](t, records)
	if ran := end.Stopped - start.At; ran < 500*time.Millisecond || end.Stopped > end.At {
		t.Errorf("the clients ran for %v, want 500ms: %+v", ran, end)
	}
	if len(of[*history.Waiting](records)) == 0 {
		t.Error("of two clients that want the same, none was waiting")
	}
}

// Who was not woken is proven in an ordinary phase, too.
func TestTrial_looksAtALineThatStandsStill(t *testing.T) {
	t.Parallel()
	trials := runTrials(t, `{name: x, subjects: [zoo/create-reply-lost, lock/predecessor], clients: [3], session_timeout: 4s,
		phases: [{name: churn, kind: churn, duration: 5s, hold: 20ms, faults: [
			{at: 300ms, fault: reply.drop, target: "1", params: {op: create}}]}]}`)
	for name, want := range map[string]string{"x-zoo-create-reply-lost-3": report.Fail, "x-lock-predecessor-3": report.Pass} {
		judged(t, trials[name], verdict.Progress, want)
	}
}

// A line of clients that poll never comes to rest, and can be drained all the same.
func TestDrain_ofClientsThatPoll(t *testing.T) {
	t.Parallel()
	runTrials(t, `{name: x, subjects: [zoo/spin-lock], clients: [4], session_timeout: 4s,
		phases: [{name: drain, kind: drain, rounds: 1, hold: 1ms}]}`)
}

// A trial that cannot be played, or whose recipe panics, is unknown, with the reason; the run goes on.
func TestRunner_playsTheOthersWhereATrialCannotBePlayed(t *testing.T) {
	recipes.Register(recipes.Subject{Name: "test/shut", Recipe: recipes.RecipeLock, Open: func(context.Context, recipes.Env) (recipes.Client, error) {
		return nil, errors.New("it does not open")
	}})
	panics := wrapped("lock/predecessor", func(c recipes.Client, _ recipes.Env) recipes.Client {
		return &panicking{Contender: c.(recipes.Contender)}
	})
	panics.Name = "test/panics"
	recipes.Register(panics)
	t.Parallel()
	files := newRunner(t).play(t, `{name: x, subjects: [test/shut, test/panics, lock/predecessor], clients: [2], session_timeout: 4s,
		phases: [{name: churn, kind: churn, duration: 1s, hold: 1ms}]}`)
	if len(files) != 3 {
		t.Fatalf("%d histories, want that of each trial", len(files))
	}
	if why := failureOf(t, files[1]); !strings.Contains(why, "panic: the third") || !strings.Contains(why, "acquire of client ") {
		t.Errorf("it ended because: %s", why)
	}
	if why := failureOf(t, files[2]); why != "client 0: it does not open" && why != "client 1: it does not open" {
		t.Errorf("it could not be played because: %s", why)
	}
	if records := recordsOf(t, files[0]); len(of[*history.TrialFailure](records)) > 0 || len(of[*history.Sample](records)) == 0 {
		t.Error("the other trial was not played")
	}
}

type panicking struct {
	recipes.Contender
	acquires int
}

func (p *panicking) Acquire(ctx context.Context) (recipes.Claim, error) {
	if p.acquires++; p.acquires == 3 {
		panic("the third")
	}
	return p.Contender.Acquire(ctx)
}

func TestRunner_endsWhereAHistoryCannotBeWritten(t *testing.T) {
	r := newRunner(t)
	inTheWay := report.HistoryPath(r.Dir, "x-lock-predecessor-2")
	must(t, os.MkdirAll(inTheWay, 0o755))
	if err := r.begin(t.Context(), t, `{name: x, subjects: [lock/predecessor], clients: [2], session_timeout: 4s,
		phases: [{name: churn, kind: churn, duration: 1s, hold: 1ms}]}`); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), inTheWay) {
		t.Errorf("%v; want that %s cannot be written", err, inTheWay)
	}
}

// keeping is a client of a queue that hands out what it has put, and removes nothing.
type keeping struct {
	recipes.QueueClient
	last []byte
}

func (k *keeping) Put(ctx context.Context, item []byte) error {
	k.last = item
	return k.QueueClient.Put(ctx, item)
}

func (k *keeping) Take(ctx context.Context) ([]byte, error) {
	return k.last, stage.Pause(ctx, time.Millisecond)
}

func TestChurn_endsThoughAQueueNeverComesToBeEmpty(t *testing.T) {
	keeps := wrapped("queue/parent", func(c recipes.Client, _ recipes.Env) recipes.Client {
		return &keeping{QueueClient: c.(recipes.QueueClient)}
	})
	keeps.Name, keeps.Promises = "test/keeping", recipes.Promises{Delivery: recipes.AtLeastOnce}
	recipes.Register(keeps)
	t.Parallel()
	why := failureOf(t, newRunner(t).play(t, `{name: x, subjects: [test/keeping], clients: [2], session_timeout: 4s,
		phases: [{name: churn, kind: churn, duration: 500ms, hold: 1ms}]}`)[0])
	if !strings.Contains(why, "the same items are delivered repeatedly") {
		t.Errorf("it could not be played because: %s", why)
	}
}
