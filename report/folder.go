package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Names inside a run folder.
const (
	ScenarioFile  = "scenario.yaml"
	ResultFile    = "result.json"
	HistoryDir    = "history"
	commitsDir    = "commits" // see history.CommitsPath
	FaultPlanDir  = "plan"
	histogramDir  = "hdr"
	PlotDir       = "plots"
	EnsembleDir   = "ensemble"
	PageFile      = "report.html"
	SummaryFile   = "summary.md"
	JUnitFile     = "junit.xml"
	BenchFile     = "bench.txt"
	historySuffix = ".jsonl.zst"
	hdrSuffix     = ".hlog"
)

const (
	resultPrefix  = "zkbench.result/v"
	resultVersion = 2
)

// HistoryPath is where the trial's history is in the run folder.
func HistoryPath(dir, trial string) string {
	return filepath.Join(dir, HistoryDir, trial+historySuffix)
}

// histogramPath is where the trial's histograms are in the run folder.
func histogramPath(dir, trial string) string {
	return filepath.Join(dir, histogramDir, trial+hdrSuffix)
}

// ReadResult reads result.json of a run folder, or the file itself. It refuses
// one that a newer zkbench wrote.
func ReadResult(path string) (Result, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, ResultFile)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return Result{}, fmt.Errorf("read result: %w", err)
	}
	var probe struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(raw, &probe); err != nil {
		return Result{}, fmt.Errorf("%s is no result: %w", path, err)
	}
	if err := checkSchema(probe.Schema); err != nil {
		return Result{}, fmt.Errorf("%s: %w", path, err)
	}
	var r Result
	if err := json.Unmarshal(raw, &r); err != nil {
		return Result{}, fmt.Errorf("%s is damaged: %w; zkbench check judges the histories beside it again", path, err)
	}
	return r, nil
}

func checkSchema(schema string) error {
	digits, ok := strings.CutPrefix(schema, resultPrefix)
	version, err := strconv.Atoi(digits)
	switch {
	case !ok || err != nil || version < 0:
		return fmt.Errorf("schema %q is not that of a zkbench result, %q", schema, Schema)
	case version > resultVersion:
		return fmt.Errorf("schema %q was written by a newer zkbench, this one reads %q: use that version, or upgrade this one", schema, Schema)
	case version < resultVersion:
		return fmt.Errorf("schema %q was written by an older zkbench, this one reads %q: use that version, or run it again", schema, Schema)
	}
	return nil
}

// writeResult writes result.json into the run folder, whole or not at all.
func writeResult(dir string, r Result) error {
	r.Schema = Schema
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return writeSynced(filepath.Join(dir, ResultFile), append(raw, '\n'))
}

// trialNames returns the names of the trials whose histories are in the run folder.
func trialNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, HistoryDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no folder %s: is it a run folder?", dir, HistoryDir)
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), historySuffix); ok && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	return names, nil
}

// Clear removes a former run from its folder. It touches only what a run writes:
// a folder that is no run folder, or holds anything else, is refused and stays as
// it is.
func Clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("clear run folder: %w", err)
	}
	run := len(entries) == 0
	for _, e := range entries {
		if !ours(e.Name()) {
			return fmt.Errorf("%s holds %s, which no run writes: name another folder, or empty it yourself", dir, e.Name())
		}
		run = run || e.Name() == ScenarioFile || e.Name() == ResultFile
	}
	if !run {
		return fmt.Errorf("%s has neither %s nor %s: it is no run folder; name another, or empty it yourself", dir, ScenarioFile, ResultFile)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("clear run folder: %w", err)
		}
	}
	return nil
}

// ours says whether a run writes a file or folder of that name; a crash may leave
// a file that was not renamed yet, like .result.json.123.
func ours(name string) bool {
	known := []string{ScenarioFile, ResultFile, HistoryDir, commitsDir, FaultPlanDir, histogramDir, PlotDir, EnsembleDir, PageFile, SummaryFile, JUnitFile, BenchFile}
	return slices.ContainsFunc(append(known, rendered...), func(known string) bool { return name == known || strings.HasPrefix(name, "."+known+".") })
}
