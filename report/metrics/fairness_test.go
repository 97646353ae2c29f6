package metrics

import (
	"math"
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

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
