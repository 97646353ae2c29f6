package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

// pairs invents trials of two subjects that took turns: the machine drifts and
// jitters, and lock/b costs slower times what lock/a does.
func pairs(r *rand.Rand, n int, slower, jitter float64) []Trial {
	var out []Trial
	for k := 1; k <= n; k++ {
		speed := 1e6 * math.Exp(0.5*r.NormFloat64())
		for i, subject := range []string{"lock/a", "lock/b"} {
			cost := []float64{1, slower}[i]
			out = append(out, Trial{
				Name: subject + "-" + strconv.Itoa(k), Repetition: k,
				Cell:    history.Cell{Scenario: "s", Subject: subject, Clients: 5, Base: "lock/a", Params: map[string]string{"hold": "1ms"}},
				Metrics: map[string]Metric{metrics.HandoffLatency: {Unit: "ns", P50: new(speed * cost * math.Exp(jitter*r.NormFloat64()))}},
			})
		}
	}
	return out
}

// againstBase judges trials by a threshold.
func againstBase(t *testing.T, trials []Trial, expr string) Result {
	t.Helper()
	c, err := ParseThreshold(expr)
	must(t, err)
	res, asked := Result{Trials: slices.Clone(trials)}, map[string][]Condition{}
	for i, x := range res.Trials {
		if c.ComparesWithBase() {
			asked[x.Name] = []Condition{c}
		} else {
			res.Trials[i].Thresholds = []Threshold{c.Judge(x)}
		}
	}
	res.compareWithBase(asked)
	return res
}

// gate holds pairs to a threshold and returns what the last trial of lock/b got.
func gate(t *testing.T, trials []Trial, expr string) Threshold {
	t.Helper()
	var got []Threshold
	for _, x := range againstBase(t, trials, expr).Trials {
		got = append(got, x.Thresholds...)
		if len(x.Thresholds) > 0 && (x.Subject != "lock/b" || x.Repetition != len(trials)/2) {
			t.Errorf("a threshold at %s, want it at the last trial of lock/b alone", x.Name)
		}
	}
	if len(got) != 1 {
		t.Fatalf("%d thresholds judged, want 1", len(got))
	}
	return got[0]
}

func TestResult_compareWithBase(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, row := range []struct {
		about          string
		n              int
		slower, jitter float64
		expr, want     string
		says           string
	}{
		{"equal ones hold a limit of 5 %", 20, 1, 0.02, "handoff.latency.p50 <= 1.05*base", Pass, "in 20 pairs; lock/a compared with itself"},
		{"one that is 10 % slower does not, though the machine drifts by half", 20, 1.1, 0.02, "handoff.latency.p50 <= 1.05*base", Fail, "in 20 pairs"},
		{"one that must be slower is", 20, 1.5, 0.02, "handoff.latency.p50 > 1.2*base", Pass, ""},
		{"one that must be slower is not", 20, 1, 0.02, "handoff.latency.p50 > 1.2*base", Fail, ""},
		{"too few trials for an interval", 3, 1.1, 0.001, "handoff.latency.p50 <= 1.05*base", Unknown, "run 3 more trials of each"},
		{"too much noise to tell", 8, 1.03, 0.2, "handoff.latency.p50 <= 1.05*base", Unknown, "of each"},
		{"a metric that nobody measured", 20, 1, 0.02, "queue.latency.p50 <= 1.05*base", Unknown, "not measured"},
	} {
		got := gate(t, pairs(r, row.n, row.slower, row.jitter), row.expr)
		if got.Result != row.want || !strings.Contains(got.Measured, row.says) {
			t.Errorf("%s: %s: %s, want %s and %q", row.about, got.Result, got.Measured, row.want, row.says)
		}
	}
}

// More trials may tell what these do not, unless something has failed in them.
func TestResult_Undecided(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	clear, noisy := pairs(r, 20, 1, 0.02), pairs(r, 8, 1.03, 0.2)
	broken := slices.Clone(noisy)
	broken[3].Verdicts = []Verdict{{Guarantee: "fifo", Result: Fail}}
	elsewhere := noisy[0].Cell
	elsewhere.Clients++
	for _, row := range []struct {
		about  string
		trials []Trial
		expr   string
		beside history.Cell
		want   bool
	}{
		{"too much noise to tell", noisy, "handoff.latency.p50 <= 1.05*base", noisy[0].Cell, true},
		{"a cell that nobody has played", noisy, "handoff.latency.p50 <= 1.05*base", elsewhere, false},
		{"it holds", clear, "handoff.latency.p50 <= 1.05*base", clear[0].Cell, false},
		{"it does not hold", clear, "handoff.latency.p50 > 1.2*base", clear[0].Cell, false},
		{"something else has failed", broken, "handoff.latency.p50 <= 1.05*base", broken[0].Cell, false},
		{"unknown, but not for want of trials beside the base", clear, "queue.latency.p50 < 5ms", clear[0].Cell, false},
	} {
		res := againstBase(t, row.trials, row.expr)
		if got := res.Undecided(row.beside); got != row.want {
			t.Errorf("%s: %v, want %v: %+v", row.about, got, row.want, res.Trials[len(res.Trials)-1].Thresholds)
		}
	}
}

// False alarms are rare and what is there is found: both rates are those that an
// interval of 95 % promises, with the noise of a small machine.
func TestResult_compareWithBase_rates(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const runs = 400
	count := func(slower float64, want string) int {
		n := 0
		for range runs {
			if gate(t, pairs(r, 24, slower, 0.02), "handoff.latency.p50 <= 1.05*base").Result == want {
				n++
			}
		}
		return n
	}
	if n := count(1, Fail); n > 0 {
		t.Errorf("%d of %d equal pairs fail", n, runs)
	}
	if n := count(1, Pass); n < runs*99/100 {
		t.Errorf("%d of %d equal pairs pass", n, runs)
	}
	if n := count(1.1, Fail); n < runs*95/100 {
		t.Errorf("a slowdown of 10 %% fails in %d of %d", n, runs)
	}
	if n := count(1.05, Fail); n > runs*5/100 {
		t.Errorf("exactly at the limit %d of %d fail, an interval of 95 %% errs on that side in 2.5 %%", n, runs)
	}
}

func TestResult_compareWithBase_withoutABase(t *testing.T) {
	trials := pairs(rand.New(rand.NewPCG(5, 6)), 2, 1, 0)
	for i := range trials {
		trials[i].Base = ""
	}
	res := againstBase(t, trials, "handoff.latency.p50 <= 1.05*base")
	judged := 0
	for _, x := range res.Trials {
		for _, h := range x.Thresholds {
			judged++
			if h.Result != Unknown || !strings.Contains(h.Measured, "does not name a base") {
				t.Errorf("%s: %s, want unknown: there is no base", h.Result, h.Measured)
			}
		}
	}
	if judged == 0 || len(res.Comparisons) != 0 {
		t.Errorf("%d thresholds and %d comparisons, want some and none", judged, len(res.Comparisons))
	}
}
