// Package baseline stores results of earlier runs in a folder, and finds the result with which a
// new run can be compared.
//
//	store := baseline.Folder("zkbench-baselines")
//	saved, err := baseline.Save(store, result, raw)
//	old, err := baseline.Latest(store, newResult)
//
// A baseline is an unchanged result.json, stored as SCENARIO/TIME-ID.json, so that names sort by
// time. Every command that accepts a run accepts this file.
package baseline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/compare"
	"github.com/zkbench/zkbench/report/safefile"
)

// Folder is the path of the folder with the baselines. [Save] creates the folder.
type Folder string

func (f Folder) String() string { return "folder " + string(f) }

func (f Folder) read(name string) ([]byte, error) {
	return safefile.Read(filepath.Join(string(f), filepath.FromSlash(name)), safefile.Result)
}

// ErrNoBaseline means that no baseline can be compared with the run.
var ErrNoBaseline = errors.New("there is no baseline to compare the run with")

const suffix = ".json"

var invalidNameChars = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

func name(r report.Result) string {
	return path.Join(sanitize(r.Run.Scenario), r.Run.Start.UTC().Format("20060102T150405Z")+"-"+sanitize(r.Run.ID)+suffix)
}

func sanitize(s string) string { return strings.Trim(invalidNameChars.ReplaceAllString(s, "_"), ".") }

// Save stores the result r, whose text is raw, and returns its name. Saving the same result again has
// no effect; a different result of the same name is an error, and is not overwritten.
func Save(f Folder, r report.Result, raw []byte) (string, error) {
	if r.Run.Scenario == "" || r.Run.Start.IsZero() || len(r.Trials) == 0 {
		return "", errors.New("a result without a scenario, a start time or trials cannot be a baseline")
	}
	n := name(r)
	switch old, err := f.read(n); {
	case err == nil && !bytes.Equal(old, raw):
		return n, fmt.Errorf("%s already has a different result named %s", f, n)
	case !errors.Is(err, fs.ErrNotExist):
		return n, err
	}
	if err := os.MkdirAll(string(f), 0o755); err != nil {
		return n, err
	}
	return n, report.WriteFile(string(f), filepath.FromSlash(n), raw)
}

// Entry is a baseline.
type Entry struct {
	Name   string
	Result report.Result
	Err    error // why the result cannot be read: another version, or damaged
}

// All returns the baselines of a scenario, or of all scenarios if scenario is empty, by start time.
func All(f Folder, scenario string) ([]Entry, error) {
	names, err := fs.Glob(os.DirFS(string(f)), cmp.Or(sanitize(scenario), "*")+"/*"+suffix)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, n := range names {
		raw, err := f.read(n)
		if err != nil {
			return nil, err
		}
		e := Entry{Name: n}
		e.Result, e.Err = report.ParseResult(n, raw)
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return strings.Compare(path.Base(a.Name), path.Base(b.Name)) })
	return out, nil
}

// Latest returns the latest baseline that is older than the run and comparable with it: it has the same
// scenario, subjects, kind of ensemble and members, and satisfies the other conditions of
// [compare.IncomparableReasons]. If there is none, the error wraps [ErrNoBaseline] and lists the latest differences.
func Latest(f Folder, now report.Result) (Entry, error) {
	all, err := All(f, now.Run.Scenario)
	if err != nil {
		return Entry{}, err
	}
	var reasons []string
	for _, e := range slices.Backward(all) {
		var why []string
		switch {
		case e.Err != nil:
			why = []string{e.Err.Error()}
		case !e.Result.Run.Start.Before(now.Run.Start):
			continue // the run itself, or a later one
		case e.Result.Run.EndReason != "":
			why = []string{"the run ended early: " + e.Result.Run.EndReason}
		default:
			why = compare.IncomparableReasons(e.Result, now)
		}
		if len(why) == 0 {
			return e, nil
		}
		if len(reasons) < shownReasons {
			reasons = append(reasons, e.Name+": "+strings.Join(why, "; "))
		}
	}
	if len(reasons) == 0 {
		return Entry{}, fmt.Errorf("%w: %s has no earlier baseline of %s", ErrNoBaseline, f, now.Run.Scenario)
	}
	return Entry{}, fmt.Errorf("%w:\n  %s", ErrNoBaseline, strings.Join(reasons, "\n  "))
}

const shownReasons = 3
