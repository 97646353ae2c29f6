package report

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/safefile"
)

const (
	ScenarioFile  = "scenario.yaml"
	ResultFile    = "result.json"
	HistoryDir    = "history"
	commitsDir    = "commits" // see history.CommitsPath
	FaultPlanDir  = "plan"
	histogramDir  = "hdr"
	PlotDir       = "plots"
	EnsembleDir   = "ensemble"
	DriverDir     = "drivers" // the stderr of drivers
	PageFile      = "report.html"
	SummaryFile   = "summary.md"
	JUnitFile     = "junit.xml"
	BenchFile     = "bench.txt"
	historySuffix = ".jsonl.zst"
	hdrSuffix     = ".hlog"
)

func HistoryPath(dir, trial string) string {
	return filepath.Join(dir, HistoryDir, trial+historySuffix)
}

func histogramFile(trial string) string { return filepath.Join(histogramDir, trial+hdrSuffix) }

// ReadResult reads result.json in this version of the format; path is the file or its run folder.
func ReadResult(path string) (Result, error) {
	r, _, err := ReadRawResult(path)
	return r, err
}

// ReadRawResult is like [ReadResult] and also returns the text of result.json.
func ReadRawResult(path string) (Result, []byte, error) {
	file := path
	info, err := os.Stat(path)
	var raw []byte
	if err == nil && info.IsDir() {
		file = filepath.Join(path, ResultFile)
		raw, err = safefile.ReadBelow(path, ResultFile, safefile.Result)
	} else {
		raw, err = safefile.Read(path, safefile.Result)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, nil, notRunFolder(path, ResultFile)
	}
	if err != nil {
		return Result{}, nil, fmt.Errorf("read result: %w", err)
	}
	r, err := ParseResult(file, raw)
	return r, raw, err
}

// absentError is an error that wraps [fs.ErrNotExist] without showing its text.
type absentError string

func (e absentError) Error() string { return string(e) }
func (absentError) Unwrap() error   { return fs.ErrNotExist }

func notRunFolder(path, missing string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return absentError(path + " does not exist")
	}
	return absentError(fmt.Sprintf("%s is not a run folder (no %s)", path, missing))
}

const repairHint = "; if the run folder still has its histories, move this file away and run: zkbench check"

// ParseResult parses raw, the text of a result.json, like [ReadResult]. Errors name it path.
func ParseResult(path string, raw []byte) (Result, error) {
	var probe struct{ Schema string }
	if err := json.Unmarshal(raw, &probe); err != nil {
		return Result{}, fmt.Errorf("%s is damaged or not a zkbench result: %w%s", path, err, repairHint)
	}
	if err := history.CheckSchema(probe.Schema, Schema); err != nil {
		return Result{}, fmt.Errorf("%s: %w", path, err)
	}
	var r Result
	if err := json.Unmarshal(raw, &r); err != nil {
		return Result{}, fmt.Errorf("%s is damaged: %w%s", path, err, repairHint)
	}
	return r, nil
}

func writeResult(dir string, r Result) error {
	r.Schema = Schema
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return writeSynced(dir, ResultFile, append(raw, '\n'))
}

// TrialNames returns the names of the trials that have a history in the run folder.
func TrialNames(dir string) ([]string, error) {
	var entries []fs.DirEntry
	err := withRoot(dir, func(root *os.Root) (err error) {
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

// Clear removes the files of a previous run from its folder. If the folder is not a run folder, or
// contains files that no run writes, Clear returns an error and removes nothing.
func Clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("clear run folder: %w", err)
	}
	run := len(entries) == 0
	for _, e := range entries {
		if !writtenByRun(e.Name()) {
			return fmt.Errorf("%s contains %s, which zkbench did not write: choose another folder, or empty this one", dir, e.Name())
		}
		run = run || e.Name() == ScenarioFile || e.Name() == ResultFile
	}
	if !run {
		return fmt.Errorf("%s is not a run folder (no %s and no %s): choose another folder, or empty this one", dir, ScenarioFile, ResultFile)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("clear run folder: %w", err)
		}
	}
	return nil
}

// writtenByRun reports whether zkbench writes a file or folder of that name. A crash may leave a
// temporary file, like .result.json.123.
func writtenByRun(name string) bool {
	known := []string{ScenarioFile, ResultFile, HistoryDir, commitsDir, FaultPlanDir, histogramDir, PlotDir, EnsembleDir, DriverDir, PageFile, SummaryFile, JUnitFile, BenchFile}
	return slices.ContainsFunc(known, func(known string) bool { return name == known || strings.HasPrefix(name, "."+known+".") })
}

// noResult is the reason for the early end of a run whose folder has histories but no result: even an
// interrupted run writes a result.
const noResult = "crashed without writing " + ResultFile

// ReadRun returns the data about the run in result.json. Without that file the data comes from the
// header of a history, and the run counts as ended early, because trials may be missing.
func ReadRun(dir string) (Run, error) {
	r, err := ReadResult(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return r.Run, err
	}
	names, err := TrialNames(dir)
	if err != nil {
		return Run{}, err
	}
	run := Run{ID: filepath.Base(dir), EndReason: noResult}
	for _, name := range names {
		if h, err := history.ReadHeader(HistoryPath(dir, name)); err == nil {
			run.Scenario, run.Seed = h.Scenario, h.Seed
			break
		}
	}
	return run, nil
}

// WriteFile writes a file atomically. name is a path below dir. A crash may leave a hidden temporary
// file next to it, which [Clear] removes. The folder is not trusted: WriteFile writes nothing outside
// it, even if it contains links.
func WriteFile(dir, name string, data []byte) error {
	return replace(dir, name, data, func(*os.File) error { return nil })
}

// writeSynced is like WriteFile, but also syncs the file, so that it survives a crash of the machine.
func writeSynced(dir, name string, data []byte) error {
	return replace(dir, name, data, (*os.File).Sync)
}

func replace(dir, name string, data []byte, sync func(*os.File) error) error {
	err := withRoot(dir, func(root *os.Root) error {
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		temp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text())
		f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		err = errors.Join(err, sync(f), f.Close())
		if err == nil {
			err = root.Rename(temp, name)
		}
		if err != nil {
			return errors.Join(err, root.Remove(temp))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

// withRoot calls do with the folder as an [os.Root], which no link can leave.
func withRoot(dir string, do func(*os.Root) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(do(root), root.Close())
}

// RemoveFiles removes the files in the subfolder name of dir for which obsolete returns true.
func RemoveFiles(dir, name string, obsolete func(name string) bool) error {
	err := withRoot(dir, func(root *os.Root) error {
		entries, err := fs.ReadDir(root.FS(), name)
		for _, e := range entries {
			if e.Type().IsRegular() && obsolete(e.Name()) {
				err = errors.Join(err, root.Remove(filepath.Join(name, e.Name())))
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove previous files in %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}
