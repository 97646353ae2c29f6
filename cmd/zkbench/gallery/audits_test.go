package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

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
