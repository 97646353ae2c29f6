package metrics

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

func TestThroughput_countsThePhaseThatIsNotTheDrain(t *testing.T) {
	b := new(line).drain(0, 1000).phase("churn", 1000, 3000).
		hold("drain", 1, 5, 0, 10, 20).hold("churn", 1, 6, 1000, 1010, 1020).hold("churn", 1, 7, 1030, 1040, 1050)
	m := b.measure()[Throughput]
	if m.Value == nil || *m.Value != 1 || m.Unit != "1/s" || m.Phase != "churn" {
		t.Errorf("got %+v, want 2 grants in 2 s", m)
	}
}

func TestThroughput_countsAPhaseInWhichNobodyWasGranted(t *testing.T) {
	m := new(line).phase("a", 0, 1000).phase("b", 1000, 4000).hold("a", 1, 5, 0, 10, 20).hold("a", 1, 6, 30, 40, 50).waiting("b", 1, 1000, 4000).measure()
	if all := m[Throughput]; all.Value == nil || *all.Value != 0.5 {
		t.Errorf("got %+v, want 2 grants in 4 s", all)
	}
	if b := m[Throughput+".b"]; b.Value == nil || *b.Value != 0 {
		t.Errorf("got %+v, want no grant in 3 s", b)
	}
}

func TestJain(t *testing.T) {
	for _, row := range []struct {
		name    string
		clients int
		grants  map[int]int
		want    float64
		ok      bool
	}{
		{"all had as many", 4, map[int]int{0: 10, 1: 10, 2: 10, 3: 10}, 1, true},
		{"one had them all", 4, map[int]int{2: 40}, 0.25, true},
		{"half had them all", 4, map[int]int{0: 20, 1: 20}, 0.5, true},
		{"too few to say", 4, map[int]int{0: 15}, 0, false},
		{"nobody to share with", 1, map[int]int{0: 100}, 0, false},
	} {
		got, ok := jain(row.grants, row.clients)
		if ok != row.ok || math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%s: %v, %v; want %v, %v", row.name, got, ok, row.want, row.ok)
		}
	}
}

// Clients that only have their sessions do not ask for a share.
func TestFairness_isAmongThoseWhoContend(t *testing.T) {
	for _, row := range []struct {
		contenders int
		want       float64
	}{{0, 2.0 / 3}, {2, 1}} { // of 3 clients
		b := new(line).add(&history.PhaseStart{Name: "churn", Kind: "churn", Pace: history.ByClients, Contenders: row.contenders})
		for i := range 20 {
			b.hold("churn", i%2, int64(i+1), 10*i, 10*i+1, 10*i+5)
		}
		if m := b.measure()[Fairness]; m.Value == nil || math.Abs(*m.Value-row.want) > 1e-9 {
			t.Errorf("with %d contenders it is %+v, want %v", row.contenders, m, row.want)
		}
	}
}

// station is a lock that lets in one after the other, each for so long.
type station struct {
	clients      int
	takes        time.Duration
	stall, stand time.Duration // it stands still from stall on for so long; 0: never
	from, to     float64       // the rates of a ramp of 10 s; to 0: it does not rise
	until        time.Duration // when its end is; 0 at 10 s
}

// history is what it records: operation by operation, first come, first served. Who waits
// in line and who waits for a client is one to the metric.
func (x station) history() *history.History {
	a := &history.Arrivals{Phase: "ramp", For: 10 * time.Second, Rate: x.from, RateTo: x.to}
	b := new(line).phaseOf("ramp", "stream", history.ByRate, 0, 40_000).add(a)
	free, token := time.Duration(0), int64(0)
	for due := time.Duration(0); due < max(x.until, 10*time.Second) && (x.until == 0 || due < x.until); due += time.Duration(float64(time.Second) / a.RateAt(due)) {
		token++
		granted := max(due, free)
		if granted >= x.stall && granted < x.stall+x.stand {
			granted = x.stall + x.stand
		}
		free = granted + x.takes
		b.add(&history.Sample{Phase: "ramp", Op: history.Acquire, Due: due, Call: due, Return: granted + time.Microsecond, Outcome: history.OK, Token: token})
	}
	return history.Of(history.Header{Trial: "t", Cell: history.Cell{Subject: "lock/parent", Clients: x.clients}}, b.records...)
}

func TestCapacity(t *testing.T) {
	for _, c := range []struct {
		name    string
		station station
		want    float64
		note    string
	}{
		{"where the rate passes what it can do", station{clients: 5, takes: 10 * time.Millisecond, from: 20, to: 220}, 100, "fell behind, it completed 100 per second"},
		{"where more clients hide it for longer", station{clients: 20, takes: 10 * time.Millisecond, from: 20, to: 220}, 100, "fell behind, it completed 100 per second"},
		{"of a stall that it makes up for nothing is left", station{clients: 5, takes: 10 * time.Millisecond, stall: time.Second, stand: time.Second / 2, from: 20, to: 220}, 100, "fell behind, it completed 100 per second"},
		{"to the end", station{clients: 5, takes: time.Millisecond, from: 20, to: 220}, 220, "kept up to the end"},
		{"to the end, but for a stall just before it", station{clients: 5, takes: time.Millisecond, stall: 9500 * time.Millisecond, stand: time.Second, from: 20, to: 220}, 220, "kept up to the end"},
		{"to an end that comes early", station{clients: 5, takes: time.Millisecond, from: 20, to: 220, until: 5 * time.Second}, 120, "kept up to the end"},
		{"below the beginning", station{clients: 5, takes: 50 * time.Millisecond, from: 100, to: 200}, 20, "fell behind, it completed 20.0 per second"},
	} {
		m, some := measure(c.station.history())[Capacity]
		switch {
		case !some || m.Unit != "1/s" || !strings.Contains(m.Note, c.note):
			t.Fatalf("%s: got %+v, want %q", c.name, m, c.note)
		case *m.Value < 0.97*c.want || *m.Value > 1.05*c.want:
			t.Errorf("%s: %v a second, want %v", c.name, *m.Value, c.want)
		}
	}
}

func TestCapacity_onlyOfARamp(t *testing.T) {
	m := measure(station{clients: 5, takes: 20 * time.Millisecond, from: 100}.history())
	if _, some := m[Capacity]; some {
		t.Error("a constant rate has a capacity")
	}
	if m[AcquireLatency].Count == nil || m[Throughput].Value == nil {
		t.Error("a constant rate has no latency, or no throughput")
	}
	m = measure(station{clients: 5, takes: 20 * time.Millisecond, from: 10, to: 100}.history())
	if m[AcquireLatency].Count != nil || m[Throughput].Value != nil {
		t.Error("a ramp has a latency, or a throughput, of all of it together")
	}
}

func TestRamp_pointsAreTheLatenciesFromDue(t *testing.T) {
	f, _ := folded(station{clients: 5, takes: 10 * time.Millisecond, from: 20, to: 220}.history())
	all := f.Ramps
	if len(all) != 1 || len(all[0].Points) != rampSteps {
		t.Fatalf("%+v, want one ramp in %d steps", all, rampSteps)
	}
	first, last := all[0].Points[0], all[0].Points[rampSteps-1]
	if first.Rate != 22 || first.P50 != time.Microsecond {
		t.Errorf("it begins with %+v, want 22 a second and no wait", first)
	}
	// 240 were due, and done, in the 4 s up to 100 a second, and then 960, of which 100 a
	// second were done: the last is done 9.6 s later.
	if last.Rate != 218 || math.Abs(last.Max.Seconds()-3.6) > 0.1 {
		t.Errorf("it ends with %+v, want 218 a second, and 3.6 s for the last", last)
	}
}

// An item waits until it is taken; one that could not be put was waited for in vain.
func TestRamp_ofAQueue(t *testing.T) {
	b := new(line).phaseOf("ramp", "stream", history.ByRate, 0, 1000).
		add(&history.Arrivals{Phase: "ramp", For: time.Second, Rate: 1, RateTo: 9})
	op := func(op, item string, due, ret int, outcome history.Outcome) {
		b.add(&history.Sample{Phase: "ramp", Op: op, Item: item, Due: time.Duration(due) * ms, Call: time.Duration(ret) * ms, Return: time.Duration(ret) * ms, Outcome: outcome})
	}
	op(history.Put, "a", 0, 1, history.OK)
	op(history.Take, "a", 1, 15, history.OK)
	op(history.Put, "b", 400, 700, history.Failed)
	f, m := folded(history.Of(history.Header{Trial: "t", Cell: history.Cell{Subject: "queue/parent", Clients: 1}}, b.records...))
	if all := f.Ramps; len(all) != 1 || len(all[0].Points) != 2 || all[0].Points[0].Max != 15*ms || all[0].Points[1].Max != 300*ms {
		t.Errorf("got %+v, want one that took 15 ms, and one given up after 300", all)
	}
	if m[QueueLatency].Count != nil {
		t.Error("a latency of a whole ramp")
	}
}

func TestUnserved_isCounted(t *testing.T) {
	b := new(line).phaseOf("stream", "stream", history.ByRate, 0, 1000).add(&history.Arrivals{Phase: "stream", For: time.Second, Rate: 10}).
		hold("stream", 1, 5, 0, 10, 20).hold("stream", 2, 6, 100, 110, 120).
		add(&history.Sample{Phase: "stream", Op: history.Acquire, Due: 500 * ms, Call: 2000 * ms, Return: 2000 * ms, Outcome: history.Failed})
	m := b.measure()[Unserved]
	if m.Value == nil || *m.Value != 1 || *m.Count != 3 {
		t.Errorf("got %+v, want 1 of 3", m)
	}
	if _, some := new(line).phase("churn", 0, 100).hold("churn", 1, 5, 0, 10, 20).measure()[Unserved]; some {
		t.Error("a closed loop has some that are due")
	}
}

// Of a ramp in steps it is the highest step that was kept up with.
func TestCapacity_ofSteps(t *testing.T) {
	a := &history.Arrivals{For: 10 * time.Second, Rate: 50, RateTo: 250, Steps: 5}
	for _, c := range []struct {
		by   time.Duration
		want float64
	}{{2500 * time.Millisecond, 50}, {4500 * time.Millisecond, 100}, {500 * time.Millisecond, 0}} {
		if got := exceededRate(a, c.by, 20); got != c.want {
			t.Errorf("behind at %v: %v, want %v", c.by, got, c.want)
		}
	}
}

// sampled is a churn of n clients, folded.
func sampled(n int, records ...history.Record) map[string]Metric {
	all := append([]history.Record{&history.PhaseStart{Name: "churn", Kind: "churn", Pace: history.ByClients, Contenders: n}}, records...)
	return measure(history.Of(history.Header{Trial: "t", Recipe: "lock", Cell: history.Cell{Clients: n}}, all...))
}

func acquired(client, call, at int, outcome history.Outcome, err string) *history.Sample {
	return &history.Sample{Client: client, Phase: "churn", Op: history.Acquire, Due: time.Duration(call) * ms, Call: time.Duration(call) * ms,
		Return: time.Duration(at) * ms, Outcome: outcome, Err: err}
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
