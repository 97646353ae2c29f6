package report

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/zkbench/zkbench/report/history"
)

// noResult is why a run ended whose folder has histories and no result: even one that
// was interrupted leaves a result.
const noResult = "it crashed, and left no " + ResultFile

// ReadRun returns what result.json in the run folder says about the run. Where there is
// none, trials may be missing of which nothing is known: the run ended early, and
// what its histories say of it is returned.
func ReadRun(dir string) (Run, error) {
	r, err := ReadResult(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return r.Run, err
	}
	names, err := TrialNames(dir)
	if err != nil {
		return Run{}, err
	}
	run := Run{ID: filepath.Base(dir), Ended: noResult}
	for _, name := range names {
		if h, err := history.ReadHeader(HistoryPath(dir, name)); err == nil {
			run.Scenario, run.Seed = h.Scenario, h.Seed
			break
		}
	}
	return run, nil
}
