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

	"github.com/zkbench/zkbench/report/safefile"
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
	DriverDir     = "drivers" // what drivers print on stderr
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

// histogramFile is where the trial's histograms are, below the run folder.
func histogramFile(trial string) string { return filepath.Join(histogramDir, trial+hdrSuffix) }

// ReadResult reads result.json of a run folder, or the file itself. It refuses
// one that a newer zkbench wrote.
func ReadResult(path string) (Result, error) {
	r, _, err := ReadRawResult(path)
	return r, err
}

// ReadRawResult is [ReadResult] that also returns the text of result.json.
func ReadRawResult(path string) (Result, []byte, error) {
	read, given := func(p string) ([]byte, error) { return safefile.Read(p, safefile.Result) }, path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dir := path
		read = func(string) ([]byte, error) { return readFile(dir, ResultFile) }
		path = filepath.Join(path, ResultFile)
	}
	raw, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, nil, notRunFolder(given, ResultFile)
	}
	if err != nil {
		return Result{}, nil, fmt.Errorf("read result: %w", err)
	}
	r, err := ParseResult(path, raw)
	return r, raw, err
}

// absentError is the text of an [fs.ErrNotExist].
type absentError string

func (e absentError) Error() string { return string(e) }
func (absentError) Unwrap() error   { return fs.ErrNotExist }

// notRunFolder is the error for a path that is not a run folder because it lacks a file.
func notRunFolder(path, lacks string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return absentError(path + " does not exist")
	}
	return absentError(fmt.Sprintf("%s is not a run folder (no %s)", path, lacks))
}

// again says what can be done without a result.
const again = "; where histories are beside it, move it away: zkbench check judges them again"

// ParseResult is [ReadResult] of a text that is at hand; path names it in errors.
func ParseResult(path string, raw []byte) (Result, error) {
	var probe struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(raw, &probe); err != nil {
		return Result{}, fmt.Errorf("%s is no result, or damaged: %w%s", path, err, again)
	}
	if err := checkSchema(probe.Schema); err != nil {
		return Result{}, fmt.Errorf("%s: %w", path, err)
	}
	var r Result
	if err := json.Unmarshal(raw, &r); err != nil {
		return Result{}, fmt.Errorf("%s is damaged: %w%s", path, err, again)
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
	return writeSynced(dir, ResultFile, append(raw, '\n'))
}

// TrialNames returns the names of the trials whose histories are in the run folder.
func TrialNames(dir string) ([]string, error) {
	var entries []fs.DirEntry
	err := within(dir, func(root *os.Root) (err error) {
		entries, err = fs.ReadDir(root.FS(), HistoryDir)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notRunFolder(dir, HistoryDir+" folder")
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), historySuffix); ok && !e.IsDir() {
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
	known := []string{ScenarioFile, ResultFile, HistoryDir, commitsDir, FaultPlanDir, histogramDir, PlotDir, EnsembleDir, DriverDir, PageFile, SummaryFile, JUnitFile, BenchFile}
	return slices.ContainsFunc(append(known, rendered...), func(known string) bool { return name == known || strings.HasPrefix(name, "."+known+".") })
}
