package metrics

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// looped is a history of two phases of 10 s: calm with 10 grants a second, then a phase
// with a fault in which the seconds from slow to slow+long have one grant each.
func looped(slow, long int) *history.History {
	b := new(line).phase("calm", 0, 10_000).phase("storm", 10_000, 20_000)
	for second := range 20 {
		n, phase := 10, "calm"
		if second >= 10 {
			phase = "storm"
		}
		if second >= slow && second < slow+long {
			n = 1
		}
		for i := range n {
			at := time.Duration(second)*time.Second + time.Duration(i)*ms
			b.add(&history.Sample{Client: i % 2, Phase: phase, Op: history.Acquire, Due: at, Call: at, Return: at + 1,
				Outcome: history.OK, Token: int64(second*100 + i + 1)})
		}
	}
	return history.Of(history.Header{Trial: "t", Cell: history.Cell{Clients: 2}}, b.fault(1, 12_000, 13_000).records...)
}

func TestSlow(t *testing.T) {
	for _, row := range []struct {
		name       string
		slow, long int
		want       time.Duration
	}{
		{"three slow seconds in the storm", 13, 3, 3 * time.Second},
		{"never slow", 0, 0, 0},
		{"slow until the phase ends", 17, 3, 3 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			measured := measure(looped(row.slow, row.long))
			if m := measured[slowTime]; m.Max == nil || time.Duration(*m.Max) != row.want {
				t.Errorf("slow.time %+v, want %v", m, row.want)
			}
			if calm := measured["throughput.calm"]; *calm.Value != 10 {
				t.Errorf("throughput.calm %v, want 10", *calm.Value)
			}
			if storm, want := measured["throughput.storm"], 10-0.9*float64(row.long); *storm.Value != want {
				t.Errorf("throughput.storm %v, want %v", *storm.Value, want)
			}
			if fair := measured[Fairness]; *fair.Value < 0.9 {
				t.Errorf("fairness %v", *fair.Value)
			}
		})
	}
}
