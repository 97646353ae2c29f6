package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The gallery has a page for the one run that there is, what was measured in it, and an index;
// everything that these link to is there, and nothing else.
func TestGenerate(t *testing.T) {
	runs, out := t.TempDir(), t.TempDir()
	must(t, os.CopyFS(filepath.Join(runs, "herd"), os.DirFS("../testdata/run")))
	const command = "zkbench run herd --set phases.1.duration=8s --seed 1"
	for _, file := range []string{filepath.Join(runs, "herd.command"), filepath.Join(out, "gone.html"), filepath.Join(out, auditsPage)} {
		must(t, os.WriteFile(file, []byte(command+"\n"), 0o644))
	}
	made, err := generate(runs, t.TempDir())
	must(t, err)
	must(t, replace(out, made))
	links := map[string]bool{"README.md": true}
	for _, page := range []string{"README.md", "measured.md"} {
		text, err := os.ReadFile(filepath.Join(out, page))
		must(t, err)
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1) {
			if link[1] != "../NUMBERS.md" {
				links[link[1]] = true
			}
		}
		if !strings.HasPrefix(string(text), generatedHeader) {
			t.Errorf("%s does not say that it is made", page)
		}
	}
	var files []string
	for _, pattern := range []string{"*.*", "measured/*"} {
		found, _ := filepath.Glob(filepath.Join(out, pattern))
		for _, file := range found {
			name, _ := filepath.Rel(out, file)
			files = append(files, filepath.ToSlash(name))
		}
	}
	slices.Sort(files)
	if want := slices.Sorted(maps.Keys(links)); !slices.Equal(files, want) {
		t.Errorf("there are %q, and linked %q", files, want)
	}
	page, err := os.ReadFile(filepath.Join(out, "herd.html"))
	must(t, err)
	if found := regexp.MustCompile(`(href|src)="[^#"]+"`).Find(page); found != nil {
		t.Errorf("the page stands alone, and links to %s", found)
	}
	if !strings.Contains(string(page), command) || strings.Contains(string(page), "host: name") {
		t.Error("the page does not say how to run it again, or names the machine")
	}
}

// keepAudit writes the result of an audit: the broken guarantee of each cell, "" for none.
func keepAudit(t *testing.T, runs, name string, cells map[string]string) {
	t.Helper()
	r := report.Result{Schema: report.Schema, Run: report.Run{Scenario: "audit", Versions: map[string]string{"zookeeper": "3.9.6"}}}
	for cell, broken := range cells {
		step, fault, _ := strings.Cut(cell, "/")
		trial := report.Trial{Name: name + cell, Cell: history.Cell{Scenario: "audit", Subject: name, Clients: 3, Script: cell, Step: step, Fault: fault}}
		trial.Verdicts = []report.Verdict{{Guarantee: verdict.Progress, Result: report.Pass}}
		if broken != "" {
			trial.Verdicts = append(trial.Verdicts, report.Verdict{Guarantee: broken, Result: report.Fail})
		}
		r.Trials = append(r.Trials, trial)
	}
	raw, err := json.Marshal(r)
	must(t, err)
	dir := filepath.Join(runs, strings.ReplaceAll(name, "/", "-"))
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, report.ResultFile), raw, 0o644))
}

func TestAudits(t *testing.T) {
	runs := t.TempDir()
	if all, err := readAudits(runs); len(all) > 0 || err != nil {
		t.Errorf("without runs: %v, %v", all, err)
	}
	keepAudit(t, runs, "lock/kazoo@2.11.0", map[string]string{"holder hold #1/session.close": verdict.OwnershipQuery, "all/wrapped-numbers": "", "next create #1/reply.drop": ""})
	keepAudit(t, runs, "lock/kazoo@2.8.0", map[string]string{"holder hold #1/session.close": verdict.OwnershipQuery, "all/wrapped-numbers": verdict.MutualExclusion,
		"next create #1/reply.drop": "", "next getData #1/cancel": verdict.NoOrphan})
	all, err := readAudits(runs)
	if err != nil || len(all) != 1 || all[0].Subject != "lock/kazoo" {
		t.Fatal(all, err)
	}
	page := all[0].Table()
	for _, want := range []string{
		"|  | 2.8.0 | 2.11.0 | cause |\n", // the older version first
		"| cells that kept every guarantee | 1 of 4 | 2 of 3 |  |\n",
		"| broken: ownership-query | 1 cell | 1 cell | is\\_acquired is only cleared by release",
		"| all/wrapped-numbers | broken: mutual-exclusion | kept | the numbers are compared as text",
		"| next getData \\#1/cancel | broken: no-orphan | not run | not explained |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "next create") || strings.Contains(page, "holder hold") {
		t.Errorf("cells that kept everything, or broke only ownership-query, have no row:\n%s", page)
	}
}
