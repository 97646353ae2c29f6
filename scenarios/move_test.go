package scenarios

import (
	"os"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/verdict"
)

// Once all members have moved, a client that resolves their names only once is lost, and a sound one is not.
func TestMove_showsWhoResolvesNamesOnlyOnce(t *testing.T) {
	t.Parallel()
	if err := rootless.Rights(); err != nil {
		t.Skip(err)
	}
	for subject, want := range map[string]string{"lock/predecessor": report.Pass, "zoo/resolves-once": report.Fail} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			r.ensemble = startEnsemble(t, ensembles.Options{Members: 3, Tick: 500 * time.Millisecond})
			r.Driver = []string{"/usr/bin/env", driverKey + "=" + subject, os.Args[0]}
			s := shipped(t, "move", "subjects=["+subject+"]")
			batches, err := s.Batches()
			must(t, err)
			must(t, r.run(t.Context(), s, batches[0], 0, 1))
			trial := trialOf(t, report.HistoryPath(r.Dir, batches[0].Cells[0].TrialName()))
			judged(t, trial, verdict.Progress, want)
			if len(trial.Faults) != 1 || trial.Faults[0].Err != "" {
				t.Errorf("faults %+v, want one that is proven", trial.Faults)
			}
			if want == report.Pass {
				sound(t, trial)
			}
		})
	}
}
