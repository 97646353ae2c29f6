package view

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

// found lists the sentences about what trials measured.
func found(trials ...report.Trial) []string {
	var out []string
	for _, f := range New(Input{Result: report.Result{Trials: trials}}).FindingsOf(Measurement) {
		out = append(out, f.String())
	}
	return out
}

// A recipe that broke a guarantee is not set against others for its speed, nor shown beside
// sound ones.
func TestView_doesNotPraiseWhatIsBroken(t *testing.T) {
	broken, sound, slow := timed("b", "lock/broken", report.Fail, 1e6), timed("s", "lock/sound", report.Pass, 4e6), timed("l", "lock/slow", report.Pass, 12e6)
	if got := found(broken, sound); len(got) != 0 {
		t.Errorf("of a broken and a sound one it says %q", got)
	}
	equal(t, found(broken, sound, slow), []string{
		"One hand-off (p50): lock/sound 4.00 ms, lock/slow 12.0 ms. Too few trials to compare them (1 and 1): use --ab, or --trials 10."})
}

// In a run that ended early some trials have barely begun: nothing is compared.
func TestView_comparesNothingInARunThatEndedEarly(t *testing.T) {
	trials := []report.Trial{timed("a", "lock/a", report.Pass, 1e6), timed("b", "lock/b", report.Pass, 24e6)}
	for ended, want := range map[string]int{"": 1, "interrupted": 0} {
		v := New(Input{Result: report.Result{Run: report.Run{EndReason: ended}, Trials: trials}})
		if got := v.FindingsOf(Measurement); len(got) != want {
			t.Errorf("ended %q: it compares %q, want %d sentences", ended, got, want)
		}
	}
}

// A lock that is spared another process is set against one that is not only with that said.
func TestView_saysWhoWasSparedAProcess(t *testing.T) {
	trial := func(subject string, measured ...string) report.Trial {
		x := judged(subject, subject, 10, "fifo", report.Pass)
		x.Metrics = map[string]metrics.Metric{}
		for _, m := range measured {
			x.Metrics[m] = metrics.Metric{Unit: "ns", Count: new(int64(60)), P50: new(4e6)}
		}
		return x
	}
	const handoff, says = "handoff.latency", "The conditions are unequal: lock/mine ran as separate processes, but lock/ours ran in the zkbench process"
	for about, row := range map[string]struct {
		trials []report.Trial
		want   bool
	}{
		"one is a program":          {[]report.Trial{trial("lock/ours", handoff), trial("lock/mine", handoff, metrics.PipeRoundtrip)}, true},
		"both are":                  {[]report.Trial{trial("lock/ours", handoff, metrics.PipeRoundtrip), trial("lock/mine", handoff, metrics.PipeRoundtrip)}, false},
		"none is":                   {[]report.Trial{trial("lock/ours", handoff), trial("lock/mine", handoff)}, false},
		"one could not be measured": {[]report.Trial{trial("lock/ours"), trial("lock/mine", handoff, metrics.PipeRoundtrip)}, false},
	} {
		if got := slices.ContainsFunc(found(row.trials...), func(s string) bool { return strings.HasPrefix(s, says) }); got != row.want {
			t.Errorf("%s: it says so: %t", about, got)
		}
	}
}

// An interval that holds 1 is no difference, and stands after those that are one.
func TestView_seesNoDifferenceInAnIntervalThatHoldsOne(t *testing.T) {
	compared := func(metric string, low, high float64) report.Comparison {
		return report.Comparison{Cell: history.Cell{Scenario: "s", Subject: "lock/a", Clients: 3, Base: "lock/b"}, Metric: metric, Pairs: 6,
			Ratio: report.Interval{Center: 1.2, Low: &low, High: &high}}
	}
	var got []string
	v := New(Input{Result: report.Result{Comparisons: []report.Comparison{compared("throughput", 0.9, 1.5), compared("handoff.latency.p50", 1.1, 1.3)}}})
	for _, f := range v.FindingsOf(Measurement) {
		got = append(got, f.String())
	}
	equal(t, got, []string{"A comparison trial by trial at 3 contenders: handoff.latency.p50 of lock/a is 1.200 of lock/b's (1.100 to 1.300 in 6 pairs).",
		"A comparison trial by trial at 3 contenders found no difference in throughput of lock/a: 1.200 of lock/b's (0.900 to 1.500 in 6 pairs)."})
}

// A sentence compares two subjects only with the interval of their ratio.
func TestExtremes_haveAnIntervalOrMakeNoComparison(t *testing.T) {
	trials := func(n int, spread float64) (all []report.Trial) {
		for i := range n {
			for subject, p50 := range map[string]float64{"lock/a": 2e6, "lock/b": 4e6} {
				x := timed(fmt.Sprint(subject, i), subject, report.Pass, p50*(1+spread*float64(i)))
				x.Repetition = i + 1
				all = append(all, x)
			}
		}
		return all
	}
	for want, given := range map[string][]report.Trial{
		"(ratio 0.50, 95 % confidence interval ":   trials(8, 0.01),
		"Too few trials to compare them (2 and 2)": trials(2, 0.01),
	} {
		if got := found(given...); len(got) != 1 || !strings.Contains(got[0], want) || strings.Contains(got[0], "faster") {
			t.Errorf("it says %q, want %q in it", got, want)
		}
	}
	for _, f := range found(trials(8, 1)...) { // values that overlap: the interval includes 1
		if !strings.HasPrefix(f, "No difference was found. ") || !strings.Contains(f, "95 % confidence interval") || strings.Contains(f, "faster") || strings.Contains(f, "slower") {
			t.Errorf("a claim without support: %s", f)
		}
	}
}

// Whatever was measured, a finding that claims a difference has an interval without 1.
func TestFindings_claimADifferenceOnlyWithAnIntervalThatExcludesOne(t *testing.T) {
	interval := regexp.MustCompile(`\(([0-9.]+) to ([0-9.]+) in |95 % confidence interval ([0-9.]+) to ([0-9.]+),`)
	rapid.Check(t, func(t *rapid.T) {
		var r report.Result
		factor := rapid.Float64Range(0.3, 3)
		for range rapid.IntRange(0, 4).Draw(t, "comparisons") {
			c := report.Comparison{Cell: history.Cell{Scenario: "s", Subject: "lock/a", Clients: 3, Base: "lock/b"}, Metric: "handoff.latency.p50", Pairs: 7}
			bounds := []float64{factor.Draw(t, "bound"), factor.Draw(t, "bound"), factor.Draw(t, "bound")}
			slices.Sort(bounds)
			c.Ratio.Center = bounds[1]
			if rapid.Bool().Draw(t, "enough pairs") {
				c.Ratio.Low, c.Ratio.High = &bounds[0], &bounds[2]
			}
			r.Comparisons = append(r.Comparisons, c)
		}
		for i := range rapid.IntRange(0, 9).Draw(t, "trials") {
			for _, subject := range []string{"lock/c", "lock/d"} {
				x := timed(fmt.Sprint(subject, i), subject, report.Pass, 1e6*factor.Draw(t, "p50"))
				x.Repetition = i + 1
				r.Trials = append(r.Trials, x)
			}
		}
		for _, f := range New(Input{Result: r}).FindingsOf(Measurement) {
			text := f.String()
			if strings.Contains(strings.ToLower(text), "no difference") || strings.Contains(strings.ToLower(text), "too few") {
				continue
			}
			m := interval.FindStringSubmatch(text)
			if m == nil {
				t.Fatalf("a claim without an interval: %s", text)
			}
			low, _ := strconv.ParseFloat(m[1]+m[3], 64)
			high, _ := strconv.ParseFloat(m[2]+m[4], 64)
			if low < 1 && high > 1 {
				t.Fatalf("the interval includes 1: %s", text)
			}
		}
	})
}
