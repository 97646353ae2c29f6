package report

import (
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func judged(results ...string) Trial {
	t := Trial{Name: "t"}
	for _, r := range results {
		t.Verdicts = append(t.Verdicts, Verdict{Guarantee: "g-" + r, Result: r})
	}
	return t
}

func TestOutcome(t *testing.T) {
	with := func(t Trial, change func(*Trial)) Trial { change(&t); return t }
	for _, c := range []struct {
		name   string
		trials []Trial
		ended  string
		want   string
	}{
		{"all pass", []Trial{judged(Pass, Pass)}, "", Pass},
		{"one unknown", []Trial{judged(Pass), judged(Pass, Unknown)}, "", Unknown},
		{"one failure is worse than unknown", []Trial{judged(Fail), judged(Unknown)}, "", Fail},
		{"a threshold counts like a verdict", []Trial{with(judged(Pass), func(t *Trial) { t.Thresholds = []Threshold{{Result: Fail}} })}, "", Fail},
		{"a result that nobody knows is unknown", []Trial{judged(Pass, "perhaps")}, "", Unknown},
		{"what is not promised, or not judged, counts neither way", []Trial{judged(Pass, NotPromised, NotJudged)}, "", Pass},
		{"and excuses nothing", []Trial{judged(Fail, NotPromised), judged(Unknown, NotJudged)}, "", Fail},
		{"a broken specimen that does not promise what it was to break", []Trial{with(judged(Pass, NotPromised), func(t *Trial) { t.Expect = []string{"g-not promised"} })}, "", Unknown},
		{"a trial without a verdict", []Trial{judged(Pass), judged()}, "", Unknown},
		{"no trial at all", nil, "", Unknown},
		{"a run that ended early", []Trial{judged(Pass)}, "interrupted", Unknown},
		{"a run that ended early and failed", []Trial{judged(Fail)}, "interrupted", Fail},
		{"a fault without proof", []Trial{with(judged(Pass), func(t *Trial) { t.Faults = []Fault{{Err: "no effect"}} })}, "", Unknown},
		{"a broken specimen that was caught", []Trial{with(judged(Fail), func(t *Trial) { t.Expect = []string{"g-fail"} })}, "", Pass},
		{"a broken specimen that passed", []Trial{with(judged(Pass), func(t *Trial) { t.Expect = []string{"g-pass"} })}, "", Fail},
		{"a broken specimen that nobody judged", []Trial{with(judged(Pass), func(t *Trial) { t.Expect = []string{"other"} })}, "", Unknown},
		{"a broken specimen whose fault had no proof", []Trial{with(judged(Pass), func(t *Trial) {
			t.Expect, t.Faults = []string{"g-pass"}, []Fault{{Err: "no effect"}}
		})}, "", Unknown},
	} {
		if got := (Result{Run: Run{EndReason: c.ended}, Trials: c.trials}).Outcome(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTallies_countASpecimenOnce(t *testing.T) {
	specimen := judged(Fail, Pass, Pass)
	specimen.Expect, specimen.Cell = []string{"g-fail"}, history.Cell{Script: "crowd"}
	verdicts, thresholds := Tallies([]Trial{specimen, judged(Pass, Unknown, NotPromised, NotJudged)})
	if verdicts != (Tally{Pass: 2, Unknown: 1}) || thresholds.Total() != 0 {
		t.Errorf("verdicts %+v, thresholds %+v", verdicts, thresholds)
	}
}

func TestFault_Skipped(t *testing.T) {
	if !(Fault{Err: "skipped: no root"}).Skipped() {
		t.Error("it could not be had here, and is not skipped")
	}
	if (Fault{Err: "no proven effect"}).Skipped() || (Fault{Proof: "seen", Err: "skipped the rest"}).Skipped() {
		t.Error("one that was injected is skipped")
	}
}
