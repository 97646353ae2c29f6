package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

func TestTrace_ofAQueue(t *testing.T) {
	records := []history.Record{
		&history.PhaseStart{Name: "deliver", Kind: history.DrainPhase, Pace: history.ByHarness},
		&history.PhaseEnd{Name: "deliver", At: time.Second},
		&history.PhaseStart{Name: "stream", Index: 1, Kind: "stream", Pace: history.ByRate, At: time.Second},
	}
	for i, phase := range []string{"deliver", "stream", "stream"} {
		due, id := time.Duration(i)*time.Second, fmt.Sprint(i)
		records = append(records,
			&history.Sample{Client: 2, Phase: phase, Op: history.Put, Item: id, Due: due, Call: due, Return: due + ms, Outcome: history.OK},
			&history.Sample{Phase: phase, Op: history.Take, Item: id, Due: due, Call: due, Return: due + 2*ms, Outcome: history.OK})
	}
	records = append(records, &history.Traffic{At: 3 * time.Second, Phase: "stream", Of: history.OfItem, Count: 2},
		&history.PhaseEnd{Name: "stream", Index: 1, At: 3 * time.Second})
	tr := EvaluateHistory(history.Of(history.Header{Trial: "queue-2", Recipe: verdict.Queue, Cell: history.Cell{Clients: 2}}, records...)).Trace
	if !tr.Queue || len(tr.Handoffs) != 3 || tr.IncompleteReason != "" {
		t.Fatalf("queue %v, %d deliveries, partial %q; want 3", tr.Queue, len(tr.Handoffs), tr.IncompleteReason)
	}
	if h := tr.Handoffs[1]; h.At != time.Second+2*ms || h.Latency != 2*ms || h.Failover {
		t.Errorf("the first item of the stream: %+v, want 2 ms from due to taken", h)
	}
}

func TestTrace_aFaultThatNeverHealedLastsUntilTheEnd(t *testing.T) {
	h := history.Of(history.Header{}, append(hold("p", 1, 5, 0, 10, 20), &history.Window{Start: 5 * ms})...)
	if f := EvaluateHistory(h).Trace.Faults; len(f) != 1 || f[0].End != 21*ms {
		t.Errorf("%+v, want it to last until 21 ms", f)
	}
}

func TestTrace_roundsOfASuccession(t *testing.T) {
	joined := func(round, client, at int) history.Record {
		return &history.Joined{Phase: "resign", Round: round, Client: client, At: time.Duration(at) * ms}
	}
	leaving := func(round, client, at int) history.Record {
		return &history.Leaving{Phase: "resign", Round: round, Client: client, At: time.Duration(at) * ms}
	}
	got := EvaluateHistory(history.Of(history.Header{}, joined(1, 0, 1), joined(1, 1, 2), leaving(1, 0, 5), leaving(1, -1, 9), joined(2, 0, 10))).Trace.Rounds
	if len(got) != 2 || got[0].End != 9*ms || got[1].End != 0 || len(got[0].Waiters) != 2 {
		t.Fatalf("%+v, want a round of two clients, and one that came to no end", got)
	}
	if first, second := got[0].Waiters[0], got[0].Waiters[1]; !first.Left || first.To != 5*ms || second.Left || second.To != 9*ms {
		t.Errorf("%+v and %+v, want one that left after 5 ms, and one that stood until the end", first, second)
	}
}
