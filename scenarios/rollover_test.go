package scenarios

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/verdict"
)

// A token that is the counter alone falls when the counter overflows.
func TestRollover_ofATokenWithoutItsEpoch(t *testing.T) {
	s := shipped(t, "rollover")
	s.FirstZxid, s.Subjects, s.Phases[0].Duration = 4294967195, []string{"zoo/token-of-32-bits"}, 12*time.Second
	c, err := Run(t.Context(), Config{Scenario: s, Dir: t.TempDir(), Ensemble: ensembles.Options{Kind: ensembles.Process}})
	if err != nil || len(c.Result.Trials) != 1 {
		t.Fatalf("%d trials: %v", len(c.Result.Trials), err)
	}
	if v := verdictOn(c.Result.Trials[0], verdict.Fencing); v == nil || v.Result != verdict.Fail {
		t.Errorf("fencing: %+v", v)
	}
}

// Transaction numbers overflow, and every guarantee holds. Without an overflow the run is unknown.
func TestRollover(t *testing.T) {
	for first, want := range map[int]string{4294967195: verdict.Pass, 1000: verdict.Unknown} {
		s := shipped(t, "rollover")
		s.FirstZxid, s.Subjects, s.Phases[0].Duration = first, s.Subjects[:1], 8*time.Second
		c, err := Run(t.Context(), Config{Scenario: s, Dir: t.TempDir(), Ensemble: ensembles.Options{Kind: ensembles.Process}})
		if err != nil || len(c.Result.Trials) != 1 {
			t.Fatalf("%d trials: %v", len(c.Result.Trials), err)
		}
		for _, v := range c.Result.Trials[0].Verdicts {
			if expected := map[bool]string{true: want, false: verdict.Pass}[v.Guarantee == verdict.Faults]; verdict.IsChecked(v.Result) && v.Result != expected {
				t.Errorf("from %d on: %s is %s: %v", first, v.Guarantee, v.Result, v.Reasons)
			}
		}
	}
}
