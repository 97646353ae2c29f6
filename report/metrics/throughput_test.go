package metrics

import (
	"math"
	"testing"

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
