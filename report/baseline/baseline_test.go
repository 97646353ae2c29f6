package baseline

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
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

// repository is a git repository with one file, staged and changed again.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"}} {
		if err := os.WriteFile(filepath.Join(dir, "code"), []byte("code"), 0o644); err != nil {
			t.Fatal(err)
		}
		gitDo(t, dir, args...)
	}
	return dir
}

func gitDo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// A folder and a branch keep the same.
func TestStores(t *testing.T) {
	for name, s := range map[string]Store{"folder": Folder(filepath.Join(t.TempDir(), "not", "there")), "branch": Branch(repository(t), "zkbench-baselines")} {
		t.Run(name, func(t *testing.T) {
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
		})
	}
}

func TestLast(t *testing.T) {
	s := Folder(t.TempDir())
	members := func(n int) func(*report.Result) { return func(r *report.Result) { r.Run.Ensemble.Members = n } }
	for hour, x := range []struct {
		id     string
		change func(*report.Result)
	}{
		{"like", nil}, {"five", members(5)}, {"interrupted", func(r *report.Result) { r.Run.Ended = "interrupted" }},
		{"older", func(r *report.Result) { r.Schema = "zkbench.result/v1" }}, {"itself", nil}, {"later", nil},
	} {
		r, raw := made(t, x.id, hour, x.change)
		if _, err := Save(s, r, raw); err != nil {
			t.Fatal(err)
		}
	}
	now, _ := made(t, "itself", 4, nil)
	if e, err := Last(s, now); err != nil || e.Result.Run.ID != "like" {
		t.Errorf("%s, %v; want the last that is like it, and not itself", e.Name, err)
	}
	seven, _ := made(t, "seven", 4, members(7))
	_, err := Last(s, seven)
	if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "members: 5 before, 7 now") || !strings.Contains(err.Error(), "older zkbench") {
		t.Errorf("%v, want every reason", err)
	}
	churn, _ := made(t, "churn", 4, func(r *report.Result) { r.Run.Scenario = "churn" })
	if _, err := Last(s, churn); !errors.Is(err, ErrNone) {
		t.Errorf("of another scenario: %v", err)
	}
}

// A branch is written without touching what is worked on, or anybody's name.
func TestBranch_leavesTheWorkAlone(t *testing.T) {
	dir := repository(t)
	if err := os.WriteFile(filepath.Join(dir, "staged"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	gitDo(t, dir, "add", "staged")
	before := gitDo(t, dir, "status", "--porcelain", "--branch")
	t.Setenv("HOME", t.TempDir()) // where git knows nobody
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r, raw := made(t, "first", 0, nil)
	if _, err := Save(Branch(dir, "kept"), r, raw); err != nil {
		t.Fatal(err)
	}
	if after := gitDo(t, dir, "status", "--porcelain", "--branch"); after != before {
		t.Errorf("status was\n%s, and is\n%s", before, after)
	}
	if log := gitDo(t, dir, "log", "--format=%s %P", "kept"); strings.TrimSpace(log) != "baseline herd/20261122T120000Z-first.json" {
		t.Errorf("the branch has %q, want one commit without a parent", log)
	}
}

// What a clone sees as origin's branch is read, and goes on in a branch of its own.
func TestBranch_beginsWithOrigins(t *testing.T) {
	dir := repository(t)
	first, raw := made(t, "first", 0, nil)
	if _, err := Save(Branch(dir, "kept"), first, raw); err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	gitDo(t, dir, "clone", "-q", dir, clone)
	s := Branch(clone, "kept")
	second, raw := made(t, "second", 1, nil)
	if _, err := Save(s, second, raw); err != nil {
		t.Fatal(err)
	}
	if all, err := All(s, "herd"); err != nil || len(all) != 2 {
		t.Errorf("%d baselines, %v; want that of origin and the new one", len(all), err)
	}
	gitDo(t, clone, "push", "-q", "origin", "kept")

	// Origin's goes on elsewhere.
	third, raw := made(t, "third", 2, nil)
	if _, err := Save(Branch(dir, "kept"), third, raw); err != nil {
		t.Fatal(err)
	}
	gitDo(t, clone, "fetch", "-q")
	fourth, raw := made(t, "fourth", 3, nil)
	if _, err := Save(s, fourth, raw); err != nil {
		t.Fatal(err)
	}
	if all, err := All(s, "herd"); err != nil || len(all) != 4 {
		t.Errorf("%d baselines, %v; want those of origin and the new one", len(all), err)
	}
	gitDo(t, clone, "push", "-q", "origin", "kept")
}

// A folder of the repository is as good as another.
func TestBranch_isTheSameFromAFolder(t *testing.T) {
	dir := repository(t)
	r, raw := made(t, "first", 0, nil)
	if _, err := Save(Branch(dir, "kept"), r, raw); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if all, err := All(Branch(below, "kept"), ""); err != nil || len(all) != 1 {
		t.Errorf("%d baselines, %v, want 1", len(all), err)
	}
	if _, err := Save(Branch(below, "kept"), r, append(raw, ' ')); err == nil {
		t.Error("another result was written over")
	}
}

func TestBranch_refusals(t *testing.T) {
	if _, err := All(Branch(t.TempDir(), "kept"), ""); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("no repository: %v", err)
	}
	for _, name := range []string{"a b", "HEAD", "-x", "refs/heads/x"} {
		if _, err := All(Branch(repository(t), name), ""); err == nil || !strings.Contains(err.Error(), "not a valid name of a git branch") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A branch that somebody works on is left alone, here and in another work tree.
func TestBranch_refusesOneThatIsCheckedOut(t *testing.T) {
	dir := repository(t)
	gitDo(t, dir, "worktree", "add", "-q", filepath.Join(t.TempDir(), "other"), "-b", "theirs")
	r, raw := made(t, "first", 0, nil)
	for _, name := range []string{"main", "theirs"} {
		tip := gitDo(t, dir, "rev-parse", name)
		_, err := Save(Branch(dir, name), r, raw)
		if err == nil || !strings.Contains(err.Error(), "git branch "+name+" is checked out in ") {
			t.Errorf("%s: %v", name, err)
		}
		if after := gitDo(t, dir, "rev-parse", name); after != tip {
			t.Errorf("%s was written", name)
		}
	}
}
