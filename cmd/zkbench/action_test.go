package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"
)

// action is action.yml, as far as it is checked here.
type action struct {
	Inputs map[string]struct {
		Description string
		Default     string
	}
	Runs struct {
		Using string
		Steps []struct {
			Uses, Run, Shell string
			Env              map[string]string
		}
	}
}

func readAction(t *testing.T) (a action, text string) {
	t.Helper()
	raw, err := os.ReadFile("../../action.yml")
	must(t, err)
	must(t, yaml.Load(raw, &a))
	return a, string(raw)
}

// What a forge would say only when somebody's job fails.
func TestAction_isSound(t *testing.T) {
	a, text := readAction(t)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Fatalf("%+v is no composite action", a.Runs)
	}
	for _, s := range a.Runs.Steps {
		switch {
		case s.Uses != "" && !regexp.MustCompile(`^[\w-]+/[\w-]+@v\d`).MatchString(s.Uses):
			t.Errorf("%q names no version", s.Uses)
		case s.Run != "" && s.Shell == "":
			t.Errorf("a step of a composite action needs its shell: %s", s.Run)
		case strings.Contains(s.Run, "${{"):
			t.Errorf("what a caller writes must not become a part of the script, but come by env: %s", s.Run)
		}
		for _, file := range regexp.MustCompile(`\$GITHUB_ACTION_PATH/([\w./-]+)`).FindAllStringSubmatch(s.Run, -1) {
			if info, err := os.Stat("../../" + file[1]); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s is not there, or cannot be run: %v", file[1], err)
			}
		}
	}
	for name, in := range a.Inputs {
		if in.Description == "" || !strings.Contains(text, "inputs."+name) {
			t.Errorf("input %s does nothing, or says nothing", name)
		}
	}
	for _, used := range regexp.MustCompile(`inputs\.(\w+)`).FindAllStringSubmatch(text, -1) {
		if _, ok := a.Inputs[used[1]]; !ok {
			t.Errorf("there is no input %s", used[1])
		}
	}
}

// The workflows in the documentation call the action as it is, and others' jobs are YAML.
func TestAction_asDocumented(t *testing.T) {
	a, _ := readAction(t)
	text, err := os.ReadFile("../../docs/CI.md")
	must(t, err)
	calls := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		var w struct {
			Jobs map[string]struct {
				Steps []struct {
					Uses string
					With map[string]string
				}
			}
		}
		if err := yaml.Load([]byte(block[1]), &w); err != nil {
			t.Fatalf("%v in\n%s", err, block[1])
		}
		for _, job := range w.Jobs {
			for _, s := range job.Steps {
				if !strings.HasPrefix(s.Uses, "zkbench/zkbench@") {
					continue
				}
				calls++
				for name := range s.With {
					if _, ok := a.Inputs[name]; !ok {
						t.Errorf("the action has no input %s", name)
					}
				}
			}
		}
	}
	if calls < 2 {
		t.Errorf("%d workflows call the action, want one with a driver and one in Go", calls)
	}
}

// The shell steps of the action, as they are, test a driver: the first run is kept on a branch,
// and the second is compared with it.
func TestAction_runsComparesAndKeeps(t *testing.T) {
	t.Parallel()
	gate, err := filepath.Abs("../../.ci/gate")
	must(t, err)
	zkbench, err := exec.LookPath("zkbench")
	must(t, err)
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	shell(t, dir, nil, "git", "init", "-q", "--bare", "origin")
	shell(t, dir, nil, "git", "clone", "-q", "origin", "work")
	const scenario = `{name: mine, subjects: [lock/mine], clients: [2], session_timeout: 4s, drivers: [{name: lock/mine, exec: unused}],
		phases: [{name: drain, kind: drain, rounds: 1, hold: 0s}]}`
	must(t, os.WriteFile(filepath.Join(work, "mine.yaml"), []byte(scenario), 0o644))
	output := filepath.Join(dir, "output")
	env := []string{"ZKBENCH=" + zkbench, "ZKBENCH_STATE=" + filepath.Join(dir, "state"), "RUNNER_TEMP=" + dir, "GITHUB_OUTPUT=" + output,
		"NAME=our/lock", "SCENARIO=mine.yaml", "EXEC=lock/mine=" + zkbench + " driver lock/predecessor\n", "ARGS=--ensemble process  --members '1'",
		"BASELINES=kept", "DOCKER_HOST=unix:///nonexistent/docker.sock"}
	run := func(out string, more ...string) (said, comment string) { // the last of two values counts
		t.Helper()
		said = shell(t, work, append(slices.Clone(env), append(more, "OUT="+out)...), "bash", gate, "run")
		text, _ := os.ReadFile(filepath.Join(dir, "zkbench-comment.md"))
		return said, string(text)
	}

	_, comment := run("first", "SAVE=true")
	if !strings.HasPrefix(comment, "<!-- our/lock -->\n") {
		t.Errorf("the first comment does not begin with its name:\n%s", comment)
	}
	contains(t, comment, "lock/mine", "no earlier run on kept")
	if kept := shell(t, dir, nil, "git", "-C", "origin", "ls-tree", "-r", "--name-only", "kept"); !regexp.MustCompile(`^mine/\w+-first\.json\n$`).MatchString(kept) {
		t.Errorf("origin keeps %q", kept)
	}
	_, comment = run("second")
	contains(t, comment, "### What changed", "fanout.notifications")
	if _, comment = run("second"); strings.Contains(comment, "lock/mine") {
		t.Errorf("the folder has another run, and the comment is that one's:\n%s", comment)
	}
	run("third", "ARGS=--members '1")
	anotherKeeps(t, dir)
	run("fourth", "SAVE=true")
	kept := shell(t, dir, nil, "git", "-C", "origin", "log", "--format=%s", "--name-only", "kept")
	contains(t, kept, "another job's\n", "-first.json\n", "-fourth.json\n")
	work = dir // which is no repository
	said, _ := run("fifth", "SAVE=true", "SCENARIO=work/mine.yaml")
	contains(t, said, "kept cannot be checked out")
	// What was compared has too few trials to tell, which is no pass. A forge takes no / in an artifact's name.
	var want string
	for _, code := range []int{exitOK, exitUnknown, exitUsage, exitUsage, exitUnknown, exitUnknown} {
		want += fmt.Sprintf("code=%d\nartifact=our-lock\n", code)
	}
	if told, _ := os.ReadFile(output); string(told) != want {
		t.Errorf("the action is told %q, want %q; it said\n%s", told, want, said)
	}
}

// anotherKeeps has another job push to the branch of baselines while the next push from
// dir/work is on its way, which origin refuses therefore.
func anotherKeeps(t *testing.T, dir string) {
	t.Helper()
	shell(t, dir, nil, "git", "clone", "-q", "--branch", "kept", "origin", "another")
	another := filepath.Join(dir, "another")
	shell(t, another, nil, "git", "-c", "user.name=another", "-c", "user.email=another@example.org", "commit", "-q", "--allow-empty", "-m", "another job's")
	hook := "#!/bin/sh\nunset GIT_DIR\ngit -C '" + another + "' push -q origin kept\n" // pushes nothing the second time
	must(t, os.WriteFile(filepath.Join(dir, "work", ".git", "hooks", "pre-push"), []byte(hook), 0o755))
}

// The program that a forge keeps is known by its sources: others make another.
func TestAction_namesTheProgramByItsSources(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{".ci", "chaos", "cmd", "ensembles", "recipes", "report", "scenarios"} {
		must(t, os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	write := func(file, text string) { must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)) }
	gate, err := os.ReadFile("../../.ci/gate")
	must(t, err)
	write(".ci/gate", string(gate))
	write("go.mod", "module a")
	write("go.sum", "")
	name := func() string {
		output := filepath.Join(t.TempDir(), "output")
		shell(t, dir, []string{"GITHUB_OUTPUT=" + output}, "bash", ".ci/gate", "name")
		said, _ := os.ReadFile(output)
		return string(said)
	}
	first := name()
	if !regexp.MustCompile(`^name=zkbench-[\w-]+\n$`).MatchString(first) || name() != first {
		t.Errorf("the name is %q, and then %q", first, name())
	}
	for _, file := range []string{"go.sum", "recipes/resourcelock.go", "scenarios/churn.yaml"} {
		before := name()
		write(file, "other")
		if name() == before {
			t.Errorf("with another %s the program keeps its name", file)
		}
	}
}

// shell runs a program that must succeed, and returns what it said.
func shell(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return string(out)
}

// forge is the part of GitHub's API that keeps comments.
type forge struct {
	mu       sync.Mutex
	comments []string
	readOnly bool
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var in struct{ Body string }
	_ = json.NewDecoder(r.Body).Decode(&in) // a GET has none
	if r.Method != "GET" && f.readOnly {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	var id, page int
	switch {
	case r.Header.Get("Authorization") != "Bearer secret":
		w.WriteHeader(http.StatusUnauthorized)
		return
	case r.URL.Path == "/user": // an app's token is of no user
		w.WriteHeader(http.StatusForbidden)
		return
	case r.Method == "POST" && r.URL.Path == "/repos/me/mine/issues/7/comments":
		f.comments = append(f.comments, in.Body)
	case r.Method == "GET" && r.URL.Path == "/repos/me/mine/issues/7/comments":
		fmt.Sscan(r.FormValue("page"), &page)
		list := []map[string]any{}
		for i := (page - 1) * 100; i < min(page*100, len(f.comments)); i++ {
			author := "github-actions[bot]"
			if i < 120 {
				author = "somebody"
			}
			list = append(list, map[string]any{"id": i + 1, "body": f.comments[i], "user": map[string]any{"login": author}})
		}
		_ = json.NewEncoder(w).Encode(list)
		return
	default:
		if n, _ := fmt.Sscanf(r.Method+r.URL.Path, "PATCH/repos/me/mine/issues/comments/%d", &id); n != 1 || id < 1 || id > len(f.comments) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		f.comments[id-1] = in.Body
	}
	fmt.Fprint(w, "{}")
}

func TestAction_keepsOneComment(t *testing.T) {
	f := &forge{comments: slices.Repeat([]string{"somebody's"}, 120)} // more than a page
	f.comments[1] = "<!-- zkbench -->\nsomebody's, that begins as ours does"
	server := httptest.NewServer(f)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "comment.md")
	env := []string{"GITHUB_API_URL=" + server.URL, "GITHUB_REPOSITORY=me/mine", "PULL_REQUEST=7", "GITHUB_TOKEN=secret"}
	say := func(text string) string {
		must(t, os.WriteFile(file, []byte("<!-- zkbench -->\n"+text), 0o644))
		return shell(t, ".", env, "python3", "../../.ci/comment", file)
	}
	say("first")
	say("second")
	if len(f.comments) != 121 || f.comments[120] != "<!-- zkbench -->\nsecond" || f.comments[0] != "somebody's" || f.comments[1] != "<!-- zkbench -->\nsomebody's, that begins as ours does" {
		t.Errorf("%d comments, the last is %q; want one of ours, written anew", len(f.comments), f.comments[len(f.comments)-1])
	}
	if say(strings.Repeat("x", 100_000)); len(f.comments[120]) > 65536 {
		t.Errorf("a comment of %d bytes", len(f.comments[120]))
	}
	f.readOnly = true
	contains(t, say("a token that may only read"), "::warning::")
	env[0] = "GITHUB_API_URL=http://127.0.0.1:1"
	contains(t, say("a forge that is not there"), "::warning::")
}
