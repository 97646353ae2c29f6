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

// After the clients were told to stop, a fault healed for 5 s, and one more grant came.
func TestRates_endWhenClientsAreToldToStop(t *testing.T) {
	h := looped(0, 0)
	var records []history.Record
	for n := range h.Records {
		if e, ok := n.Record.(*history.PhaseEnd); ok && e.Name == "storm" {
			e.Stopped, e.At = e.At, e.At+5*time.Second
		}
		records = append(records, n.Record)
	}
	late := 24 * time.Second
	records = append(records, &history.Sample{Client: 1, Phase: "storm", Op: history.Acquire, Due: late, Call: late, Return: late + 1, Outcome: history.OK, Token: 1 << 20})
	measured := measure(history.Of(h.Header, records...))
	if storm := measured["throughput.storm"]; *storm.Value != 10 || *storm.Count != 100 {
		t.Errorf("throughput.storm %v of %d grants, want 10 of 100", *storm.Value, *storm.Count)
	}
	if m := measured[slowTime]; m.Max == nil || *m.Max != 0 {
		t.Errorf("slow.time %+v, want none", m)
	}
	if fair := measured[Fairness]; *fair.Value != 1 {
		t.Errorf("fairness %v: the grant after the end counts", *fair.Value)
	}
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

func TestSlow_fourOfNineAreFewerThanHalf(t *testing.T) {
	b := new(line).phase("calm", 0, 5000).phase("storm", 5000, 10_000).fault(1, 6000, 7000)
	for second := range 10 {
		n, phase := 9, "calm"
		if second >= 5 {
			n, phase = 4, "storm"
		}
		for i := range n {
			at := time.Duration(second)*time.Second + time.Duration(i)*ms
			b.add(&history.Sample{Phase: phase, Op: history.Acquire, Due: at, Call: at, Return: at + 1, Outcome: history.OK, Token: int64(second*100 + i + 1)})
		}
	}
	if m := b.measure()[slowTime]; m.Max == nil || time.Duration(*m.Max) != 5*time.Second {
		t.Errorf("slow.time %+v, want 5s", m)
	}
}
