package baseline

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// made is a result of one trial that started so many hours after noon.
func made(t *testing.T, id string, hour int, change func(*report.Result)) (report.Result, []byte) {
	t.Helper()
	r := report.Result{Schema: report.Schema, Run: report.Run{ID: id, Scenario: "herd", Start: time.Date(2026, 11, 22, 12+hour, 0, 0, 0, time.UTC),
		Ensemble: report.Ensemble{Kind: "process", Members: 3}},
		Trials: []report.Trial{{Name: "herd-lock-a-5", Cell: history.Cell{Scenario: "herd", Subject: "lock/a", Clients: 5}}}}
	if change != nil {
		change(&r)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return r, raw
}

func TestFolder(t *testing.T) {
	s := Folder(filepath.Join(t.TempDir(), "not", "there"))
	if all, err := All(s, ""); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v; want nothing in a store that is not there yet", all, err)
	}
	for hour, id := range []string{"first", "second", "third"} {
		r, raw := made(t, id, hour, nil)
		for range 2 { // the second time nothing happens
			if _, err := Save(s, r, raw); err != nil {
				t.Fatal(err)
			}
		}
	}
	other, raw := made(t, "other/../x", 9, func(r *report.Result) { r.Run.Scenario = "churn" })
	if n, err := Save(s, other, raw); err != nil || n != "churn/20261122T210000Z-other_.._x.json" {
		t.Errorf("%s, %v", n, err)
	}
	all, err := All(s, "herd")
	if err != nil || len(all) != 3 || all[0].Result.Run.ID != "first" || all[2].Result.Run.ID != "third" {
		t.Fatalf("%v, %v; want three, by time", all, err)
	}
	if all, err := All(s, ""); err != nil || len(all) != 4 {
		t.Errorf("%d of all scenarios, %v", len(all), err)
	}
	changed, raw := made(t, "first", 0, func(r *report.Result) { r.Run.Seed = 7 })
	if _, err := Save(s, changed, raw); err == nil || !strings.Contains(err.Error(), "a different result") {
		t.Errorf("another result of the same name: %v", err)
	}
}

func TestLast(t *testing.T) {
	s := Folder(t.TempDir())
	members := func(n int) func(*report.Result) { return func(r *report.Result) { r.Run.Ensemble.Members = n } }
	for hour, x := range []struct {
		id     string
		change func(*report.Result)
	}{
		{"like", nil}, {"five", members(5)}, {"interrupted", func(r *report.Result) { r.Run.EndReason = "interrupted" }},
		{"older", func(r *report.Result) { r.Schema = "zkbench.result/v1" }}, {"itself", nil}, {"later", nil},
	} {
		r, raw := made(t, x.id, hour, x.change)
		if _, err := Save(s, r, raw); err != nil {
			t.Fatal(err)
		}
	}
	now, _ := made(t, "itself", 4, nil)
	if e, err := Latest(s, now); err != nil || e.Result.Run.ID != "like" {
		t.Errorf("%s, %v; want the last that is like it, and not itself", e.Name, err)
	}
	seven, _ := made(t, "seven", 4, members(7))
	_, err := Latest(s, seven)
	if !errors.Is(err, ErrNoBaseline) || !strings.Contains(err.Error(), "members: 5 before, 7 now") || !strings.Contains(err.Error(), "older zkbench") {
		t.Errorf("%v, want every reason", err)
	}
	churn, _ := made(t, "churn", 4, func(r *report.Result) { r.Run.Scenario = "churn" })
	if _, err := Latest(s, churn); !errors.Is(err, ErrNoBaseline) {
		t.Errorf("of another scenario: %v", err)
	}
}
