// Package baseline keeps results of earlier runs, in a folder or on a branch of a git
// repository, and finds the one that a new run can be compared with.
//
//	store := baseline.Folder("zkbench-baselines")
//	saved, err := baseline.Save(store, result, raw)
//	old, err := baseline.Last(store, newResult)
//
// What is kept is result.json as it is, as SCENARIO/TIME-ID.json: a name that sorts by time,
// and a file that every verb takes for a run.
package baseline

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/compare"
)

// Store keeps files by name: slashes part folders.
type Store interface {
	List() ([]string, error) // in order
	Read(name string) ([]byte, error)
	Write(name string, data []byte) error
	String() string // where it is, for people
}

// ErrNone says that no baseline can be compared with a run.
var ErrNone = errors.New("there is no baseline that the run can be compared with")

const suffix = ".json"

// unnamable is what no name of a baseline has.
var unnamable = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

// name is that of the result among the baselines.
func name(r report.Result) string {
	return path.Join(plain(r.Run.Scenario), r.Run.Start.UTC().Format("20060102T150405Z")+"-"+plain(r.Run.ID)+suffix)
}

func plain(s string) string { return strings.Trim(unnamable.ReplaceAllString(s, "_"), ".") }

// Save keeps a result, whose text is raw, and returns its name. The same result can be saved
// again; another one is never written over.
func Save(s Store, r report.Result, raw []byte) (string, error) {
	if r.Run.Scenario == "" || r.Run.Start.IsZero() || len(r.Trials) == 0 {
		return "", errors.New("a result without a scenario, a start or trials says nothing to compare with")
	}
	n := name(r)
	names, err := s.List()
	if err != nil {
		return n, err
	}
	if slices.Contains(names, n) {
		was, err := s.Read(n)
		if err == nil && !bytes.Equal(was, raw) {
			err = fmt.Errorf("%s has another result of the name %s", s, n)
		}
		return n, err
	}
	return n, s.Write(n, raw)
}

// Entry is one baseline.
type Entry struct {
	Name   string
	Result report.Result
	Err    error // why it cannot be read: of another version, or damaged
}

// All reads the baselines of a scenario, by the time of their runs; of all scenarios where
// scenario is empty.
func All(s Store, scenario string) ([]Entry, error) {
	names, err := s.List()
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, n := range names {
		if !strings.HasSuffix(n, suffix) || scenario != "" && path.Dir(n) != plain(scenario) {
			continue
		}
		raw, err := s.Read(n)
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

// Last returns the last baseline of before the run that is like it: the same scenario,
// subjects, kind of ensemble and members, and whatever else [compare.Unlike] asks for. Where
// there is none the error is [ErrNone], and says of the last few what is unlike.
func Last(s Store, now report.Result) (Entry, error) {
	all, err := All(s, now.Run.Scenario)
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
		case e.Result.Run.Ended != "":
			why = []string{"it ended early: " + e.Result.Run.Ended}
		default:
			why = compare.Unlike(e.Result, now)
		}
		if len(why) == 0 {
			return e, nil
		}
		if len(reasons) < shownReasons {
			reasons = append(reasons, e.Name+": "+strings.Join(why, "; "))
		}
	}
	if len(reasons) == 0 {
		return Entry{}, fmt.Errorf("%w: %s has none of %s from before it", ErrNone, s, now.Run.Scenario)
	}
	return Entry{}, fmt.Errorf("%w:\n  %s", ErrNone, strings.Join(reasons, "\n  "))
}

// shownReasons is of how many baselines an error says why they are unlike a run.
const shownReasons = 3
