package scenarios

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/verdict"
)

// Transaction numbers overflow, and every guarantee holds; only a token that is the counter alone falls then.
// Without an overflow the run is unknown.
func TestRollover(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		about, subject string
		first          int
		duration       time.Duration
		guarantee      string
		want           string // the result of that guarantee
	}{
		{"an overflow", "", 4294967195, 8 * time.Second, verdict.Faults, verdict.Pass},
		{"too few transactions", "", 1000, 8 * time.Second, verdict.Faults, verdict.Unknown},
		{"a token without its epoch", "zoo/token-of-32-bits", 4294967195, 12 * time.Second, verdict.Fencing, verdict.Fail},
	} {
		t.Run(row.about, func(t *testing.T) {
			s := shipped(t, "rollover")
			s.FirstZxid, s.Subjects, s.Phases[0].Duration = row.first, s.Subjects[:1], row.duration
			if row.subject != "" {
				s.Subjects = []string{row.subject}
			}
			c, err := Run(t.Context(), Config{Scenario: s, Dir: t.TempDir(), Ensemble: ensembles.Options{Kind: ensembles.Process}})
			if err != nil || len(c.Result.Trials) != 1 {
				t.Fatalf("%d trials: %v", len(c.Result.Trials), err)
			}
			trial := c.Result.Trials[0]
			judged(t, trial, row.guarantee, row.want)
			for _, v := range trial.Verdicts {
				if row.subject == "" && v.Guarantee != row.guarantee && verdict.IsChecked(v.Result) && v.Result != verdict.Pass {
					t.Errorf("%s is %s: %v", v.Guarantee, v.Result, v.Reasons)
				}
			}
		})
	}
}
