package report

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/zkbench/zkbench/report/history"
)

// noResult is why a run ended early if its folder has histories and no result: even an
// interrupted run writes a result.
const noResult = "it crashed without writing " + ResultFile

// ReadRun returns the data about the run in result.json. Without that file the run counts as
// ended early, because trials may be missing, and the data comes from the headers of its histories.
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
