package metrics

import (
	"fmt"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// sampled is a churn of n clients, folded.
func sampled(n int, records ...history.Record) map[string]Metric {
	all := append([]history.Record{&history.PhaseStart{Name: "churn", Kind: "churn", Pace: history.ByClients, Contenders: n}}, records...)
	h := history.Of(history.Header{Trial: "t", Recipe: "lock", Cell: history.Cell{Clients: n}}, all...)
	f := NewFold(h)
	for r := range h.Records {
		f.Record(r)
	}
	return f.Close()
}

func acquired(client, call, at int, outcome history.Outcome, err string) *history.Sample {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	return &history.Sample{Client: client, Phase: "churn", Op: history.Acquire, Due: ms(call), Call: ms(call), Return: ms(at), Outcome: outcome, Err: err}
}

func TestOperationsFailed_countsWhatNoFaultExplains(t *testing.T) {
	window := &history.Window{Fault: "session.close", Client: 0, Start: 100 * time.Millisecond, End: 101 * time.Millisecond, Proof: "seen"}
	m := sampled(2,
		acquired(0, 1, 2, history.OK, ""),
		acquired(1, 3, 4, history.Failed, "failed: NoNode"),
		acquired(1, 5, 6, history.Failed, "acquire: context canceled"),
		window,
		acquired(0, 100, 102, history.Failed, "the session was lost"),
	)[OperationsFailed]
	if m.Value == nil || *m.Value != 1 || *m.Count != 4 || m.Note != "client 1 at 0.004 s: failed: NoNode" {
		t.Errorf("%v of %v failed, %q; want one of 4", *m.Value, *m.Count, m.Note)
	}
}

func TestOvertaken_countsGrantsToOthersDuringAWait(t *testing.T) {
	grants := func(n int) (records []history.Record) {
		for i := range n {
			records = append(records, acquired(i%2, 10*i, 10*i+5, history.OK, ""))
		}
		return records
	}
	waiting := &history.Waiting{At: time.Hour, Phase: "churn", Client: 2, Op: history.Acquire}
	for n, starved := range map[int]int64{30: 0, 31: 1} { // more than 10 for each of 3
		m := sampled(3, append(grants(n), waiting)...)[Overtaken]
		if *m.Value != float64(n) || *m.Expected != 30 || *m.Count != starved {
			t.Errorf("%d grants: %v (starving beyond %v), %d starved", n, *m.Value, *m.Expected, *m.Count)
		}
	}
	if m := sampled(2, grants(100)...)[Overtaken]; *m.Value > 1 || *m.Count != 0 {
		t.Errorf("clients that take turns: %s", fmt.Sprint(*m.Value))
	}
}
