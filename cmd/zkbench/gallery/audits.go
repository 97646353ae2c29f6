package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/report/view"
	"go.yaml.in/yaml/v4"
	"golang.org/x/mod/semver"
)

// audit is the audits of one subject.
type audit struct {
	Subject  string
	versions []report.Result // oldest version first
	causes   []cause
}

type cause struct {
	Subject, Broken, Text string
	Cells                 string // a regular expression
}

//go:embed causes.yaml
var causesYAML []byte

func readAudits(folder string) (all []audit, err error) {
	var causes []cause
	if err := yaml.Load(causesYAML, &causes); err != nil {
		return nil, err
	}
	dirs, err := filepath.Glob(filepath.Join(folder, "*@*"))
	if err != nil {
		return nil, err
	}
	versions := map[string][]report.Result{}
	for _, dir := range dirs {
		r, err := report.ReadResult(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		subject, _, _ := strings.Cut(r.Trials[0].Subject, "@")
		versions[subject] = append(versions[subject], r)
	}
	for _, subject := range slices.Sorted(maps.Keys(versions)) {
		slices.SortFunc(versions[subject], func(a, b report.Result) int { return semver.Compare("v"+subjectVersion(a), "v"+subjectVersion(b)) })
		all = append(all, audit{subject, versions[subject], causes})
	}
	return all, nil
}

func subjectVersion(r report.Result) string {
	_, v, _ := strings.Cut(r.Trials[0].Subject, "@")
	return v
}

func zookeeperVersion(r report.Result) string { return r.Run.Versions["zookeeper"] }

const (
	keptAll            = "kept"
	onlyOwnershipQuery = "broken: " + verdict.OwnershipQuery
)

// Table returns the cells that did not keep every guarantee, with a column for each version. The cells that
// broke no guarantee except ownership-query share a row.
func (a audit) Table() string {
	row := func(head string, values []string, cause string) view.Row {
		return view.Row{Cells: slices.Concat([]string{head}, values, []string{cause})}
	}
	var cells []view.Row
	ownership := make([]int, len(a.versions))
	for _, cell := range a.failedCells() {
		outcomes := units.Names(a.versions, func(r report.Result) string { return outcome(r, cell) })
		if slices.ContainsFunc(outcomes, func(o string) bool { return o != keptAll && o != onlyOwnershipQuery }) {
			cells = append(cells, row(cell, outcomes, a.causeOf(cell, outcomes)))
			continue
		}
		for i, o := range outcomes {
			if o == onlyOwnershipQuery {
				ownership[i]++
			}
		}
	}
	var t view.Table
	for _, head := range row("", units.Names(a.versions, subjectVersion), "cause").Cells {
		t.Columns = append(t.Columns, view.Column{Head: head})
	}
	t.Rows = append(t.Rows, row("ZooKeeper", units.Names(a.versions, zookeeperVersion), ""),
		row("cells that kept every guarantee", units.Names(a.versions, countKept), ""))
	if slices.Max(ownership) > 0 {
		counts := units.Names(ownership, func(n int) string { return units.Plural(n, "cell") })
		t.Rows = append(t.Rows, row(onlyOwnershipQuery, counts, a.causeOf("", []string{onlyOwnershipQuery})))
	}
	t.Rows = append(t.Rows, cells...)
	return markdown(t)
}

// failedCells returns the names of the cells that did not pass in every version.
func (a audit) failedCells() (cells []string) {
	for _, r := range a.versions {
		for _, t := range r.Trials {
			if t.Outcome() != report.Pass && !slices.Contains(cells, t.Script) {
				cells = append(cells, t.Script)
			}
		}
	}
	return cells
}

func countKept(r report.Result) string {
	var n report.Tally
	for _, t := range r.Trials {
		if t.Outcome() != report.Pass || t.InapplicableReason() == "" {
			n.Add(t.Outcome())
		}
	}
	return fmt.Sprintf("%d of %d", n.Pass, n.Total())
}

// outcome describes the result of a cell: the broken guarantees, or why it is unknown.
func outcome(r report.Result, cell string) string {
	i := slices.IndexFunc(r.Trials, func(t report.Trial) bool { return t.Script == cell })
	if i < 0 {
		return "not run"
	}
	t := r.Trials[i]
	if t.Outcome() == report.Pass && t.InapplicableReason() != "" {
		return "not applicable"
	}
	var names []string
	for _, v := range t.Verdicts {
		if v.Result == t.Outcome() {
			names = append(names, v.Guarantee)
		}
	}
	switch t.Outcome() {
	case report.Pass:
		return keptAll
	case report.Fail:
		return "broken: " + strings.Join(names, ", ")
	}
	return "unknown: " + strings.Join(names, ", ")
}

// causeOf returns the cause of the broken guarantees of a cell; "" if every guarantee was kept.
func (a audit) causeOf(cell string, outcomes []string) string {
	broken := strings.Join(slices.DeleteFunc(slices.Clone(outcomes), func(o string) bool { return !strings.HasPrefix(o, "broken: ") }), ", ")
	if broken == "" {
		return ""
	}
	for _, c := range a.causes {
		if c.Subject == a.Subject && strings.Contains(broken, c.Broken) && regexp.MustCompile(c.Cells).MatchString(cell) {
			return c.Text
		}
	}
	return "not explained"
}
