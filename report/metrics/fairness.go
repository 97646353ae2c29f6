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
	// By number of contenders and by client: phases with other contenders have other shares.
	grants := map[int]map[int]int{}
	total := map[int]int{}
	return collector{
		sample: func(s *history.Sample, p *history.Phase) {
			if !counted(s, p) {
				return
			}
			n := cmp.Or(p.Contenders, f.history.Header.Clients)
			if grants[n] == nil {
				grants[n] = map[int]int{}
			}
			grants[n][s.Client]++
			total[n]++
		},
		close: func(out map[string]Metric) {
			most := 0 // the number of contenders with the most grants
			for n := range total {
				if most == 0 || total[n] > total[most] || total[n] == total[most] && n > most {
					most = n
				}
			}
			if v, ok := jain(grants[most], most); ok {
				out[Fairness] = Metric{Unit: "1", Value: &v, Count: new(int64(most))}
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
