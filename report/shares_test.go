package report

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

func TestShares_jain(t *testing.T) {
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
		got, ok := shares{clients: row.clients, grants: row.grants}.jain()
		if ok != row.ok || math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%s: %v, %v; want %v, %v", row.name, got, ok, row.want, row.ok)
		}
	}
}

// looped is a history of two phases of 10 s: calm with 10 grants a second, then a phase
// with a fault in which the seconds from slow to slow+long have one grant each.
func looped(slow, long int) *history.History {
	note := func(at int, kind, phase string) history.Record {
		return history.Record{Note: &history.Note{At: time.Duration(at) * time.Second, Kind: kind, Text: phase, Client: -1}}
	}
	records := []history.Record{note(0, history.PhaseStart, "calm"), note(10, history.PhaseEnd, "calm"), note(10, history.PhaseStart, "storm")}
	for second := range 20 {
		n, phase := 10, "calm"
		if second >= 10 {
			phase = "storm"
		}
		if second >= slow && second < slow+long {
			n = 1
		}
		for i := range n {
			at := time.Duration(second)*time.Second + time.Duration(i)*time.Millisecond
			records = append(records, history.Record{Sample: &history.Sample{
				Client: i % 2, Phase: phase, Op: history.Acquire, Due: at, Call: at, Return: at + 1, Outcome: history.OK, Token: int64(second*100 + i + 1)}})
		}
	}
	records = append(records, history.Record{Window: &history.Window{Fault: "session.flap", Client: 1, Start: 12 * time.Second, End: 13 * time.Second, Proof: "yes"}},
		note(20, history.PhaseEnd, "storm"))
	return history.Of(history.Header{Trial: "t", Clients: 2, Thresholds: []string{"throughput.calm > 9", "throughput.storm > 9", "fairness > 0.9"}}, records...)
}

func TestFold_shares(t *testing.T) {
	for _, row := range []struct {
		slow, long int
		want       time.Duration
	}{{13, 3, 3 * time.Second}, {0, 0, 0}, {17, 3, 3 * time.Second}} {
		t.Run(fmt.Sprintf("slow for %v", row.want), func(t *testing.T) {
			trial := Fold(looped(row.slow, row.long)).Trial
			m := trial.Metrics[SlowTime]
			if m.Max == nil || time.Duration(*m.Max) != row.want {
				t.Errorf("slow.time %+v, want %v", m, row.want)
			}
			for i, want := range []string{Pass, map[bool]string{true: Pass, false: Fail}[row.long == 0], Pass} {
				if th := trial.Thresholds[i]; th.Result != want {
					t.Errorf("%s is %s (%s), want %s", th.Expr, th.Result, th.Measured, want)
				}
			}
		})
	}
}
