package metrics

import (
	"cmp"

	"github.com/zkbench/zkbench/report/history"
)

// Fairness names Jain's index of the clients' grants.
const Fairness = "fairness"

func init() {
	register(Family{
		Order: 52,
		Definitions: []Definition{
			{Name: Fairness, Unit: "1", Better: Higher,
				Help: "Jain's fairness index of the contenders' grants: 1 if all had equally many, 1/N if one had them all"},
		},
		collect: collectFairness,
	})
}

// fewestGrants is the number of grants a client should have had before shares are compared.
const fewestGrants = 4

func collectFairness(f *Fold) collector {
	grants := map[int]int{} // by client
	contenders := 0
	return collector{
		sample: func(s *history.Sample, p *history.Phase) {
			if counted(s, p) {
				grants[s.Client]++
				contenders = max(contenders, cmp.Or(p.Contenders, f.history.Header.Clients))
			}
		},
		close: func(out map[string]Metric) {
			if v, ok := jain(grants, contenders); ok {
				out[Fairness] = Metric{Unit: "1", Value: &v, Count: new(int64(contenders))}
			}
		},
	}
}

// jain is Jain's index: the square of the sum over n times the sum of the squares. It is false if
// there are too few grants.
func jain(shares map[int]int, n int) (float64, bool) {
	var sum, squares float64
	for _, k := range shares {
		sum, squares = sum+float64(k), squares+float64(k)*float64(k)
	}
	if n < 2 || sum < float64(fewestGrants*n) {
		return 0, false
	}
	return sum * sum / (float64(n) * squares), true
}
