package report

import (
	"math"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// queueStory is a stream in which items are due every 10 ms, and a phase with a fault.
func queueStory() *history.History {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	note := func(kind, phase string, at int, counts map[string]int64) history.Record {
		return history.Record{Note: &history.Note{Kind: kind, Client: -1, Phase: phase, Text: phase, At: ms(at), Counts: counts}}
	}
	op := func(phase, op, item string, due, ret int, outcome history.Outcome) history.Record {
		return history.Record{Sample: &history.Sample{Phase: phase, Op: op, Item: item, Due: ms(due), Call: ms(ret - 1), Return: ms(ret), Outcome: outcome}}
	}
	return history.Of(history.Header{Trial: "t", Subject: "queue/parent"},
		note(history.PhaseStart, "stream", 0, nil),
		op("stream", history.Put, "a", 10, 12, history.OK),
		op("stream", history.Take, "a", 11, 15, history.OK),
		op("stream", history.Take, "b", 16, 30, history.OK), // overtakes its put
		op("stream", history.Put, "b", 20, 31, history.OK),
		op("stream", history.Put, "c", 30, 32, history.Failed),
		note(history.Traffic, "stream", 100, map[string]int64{"items": 2, "notifications": 8, "requests": 30}),
		note(history.PhaseEnd, "stream", 100, nil),
		note(history.PhaseStart, "stormy", 100, nil),
		history.Record{Window: &history.Window{Fault: "session.close", Client: 1, Start: ms(110), End: ms(111), Proof: "seen"}},
		op("stormy", history.Put, "d", 110, 112, history.OK),
		op("stormy", history.Take, "d", 111, 1110, history.OK),
		note(history.PhaseEnd, "stormy", 2000, nil),
	)
}

func TestFold_Queue(t *testing.T) {
	m := Fold(queueStory()).Trial.Metrics
	for _, c := range []struct {
		name, metric string
		value        func(Metric) *float64
		want         float64
	}{
		{"latency counts from due to the return of the take, and not from the put", QueueLatency, func(m Metric) *float64 { return m.Max }, 10e6},
		{"an item that was taken before its put returned counts too", QueueLatency, func(m Metric) *float64 { return m.Mean }, 7.5e6},
		{"an item that met a fault is kept apart", QueueLatencyFaults, func(m Metric) *float64 { return m.Max }, 1000e6},
		{"items per notification", QueueYield, func(m Metric) *float64 { return m.Value }, 0.25},
		{"requests per item", QueueRequests, func(m Metric) *float64 { return m.Value }, 15},
		{"an item that could not be put was due and not delivered", QueueUndelivered, func(m Metric) *float64 { return m.Value }, 1},
	} {
		if v := c.value(m[c.metric]); v == nil || math.Abs(*v-c.want) > 1e-3*c.want {
			t.Errorf("%s: %s is %v, want %v", c.name, c.metric, v, c.want)
		}
	}
}

func TestFold_LeaderlessInADrill(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	op := func(client int, op string, token int64, call, ret int) history.Record {
		return history.Record{Sample: &history.Sample{Client: client, Phase: "resign", Round: 1, Op: op, Token: token, Due: ms(call), Call: ms(call), Return: ms(ret), Outcome: history.OK}}
	}
	records := []history.Record{
		{Note: &history.Note{Kind: history.PhaseStart, Client: -1, Text: "resign"}},
		op(0, history.Acquire, 1, 0, 1),
		op(0, history.Release, 1, 10, 12),
		op(1, history.Acquire, 2, 2, 17),
	}
	if _, ok := Fold(history.Of(history.Header{}, records...)).Trial.Metrics[LeaderlessTime]; ok {
		t.Error("a graceful hand-off counts as a leaderless time outside of a drill")
	}
	records = append(records, history.Record{Note: &history.Note{Kind: history.Leaving, Client: 0, Phase: "resign", Round: 1, At: ms(9)}})
	m := Fold(history.Of(history.Header{}, records...)).Trial.Metrics[LeaderlessTime]
	if m.Max == nil || *m.Max != 7e6 {
		t.Errorf("the leaderless time is %v, want the 7 ms from the call of release to the next grant", m.Max)
	}
}

func TestFold_Flaps(t *testing.T) {
	flap := func(notifications int64) history.Record {
		return history.Record{Note: &history.Note{Kind: history.Fan, Client: -1, Phase: "flap", Counts: map[string]int64{
			"flaps": 1, "notifications": notifications, "expected.notifications": 17, "servers.notifications": 18}}}
	}
	start := history.Record{Note: &history.Note{Kind: history.PhaseStart, Client: -1, Text: "flap"}}
	probe := history.Record{Sample: &history.Sample{Phase: "flap", Op: history.Acquire, Token: 1, Return: time.Second, Outcome: history.OK}}
	m := Fold(history.Of(history.Header{}, start, flap(17), flap(15), probe)).Trial.Metrics
	got := m[FlapNotifications]
	if got.Value == nil || *got.Value != 16 || *got.Expected != 17 || *got.Servers != 18 || *got.Count != 2 {
		t.Errorf("got %+v", got)
	}
	if _, ok := m[FanoutNotifications]; ok {
		t.Error("a flap counts as a hand-off")
	}
	if _, ok := m[AcquireLatency]; ok {
		t.Error("what is acquired to see that all is well counts as a measurement")
	}
}
