package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "4") // they wait for ensembles to start and for clients
	testscript.Main(m, map[string]func(){"zkbench": main})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contains fails the test unless text contains each of the parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// call runs zkbench in this process, requires the exit code, and returns what is printed.
func call(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if code := run(t.Context(), args, &out, &out); code != want {
		t.Fatalf("zkbench %s: exit code %d, want %d:\n%s", strings.Join(args, " "), code, want, &out)
	}
	return out.String()
}

// cli calls zkbench as a process of its own.
type cli struct {
	t            *testing.T
	program, dir string
	env          []string
	user         *syscall.SysProcAttr
}

// newCLI returns a zkbench without Docker that has a folder and a state folder of its own.
func newCLI(t *testing.T) cli {
	dir := t.TempDir()
	env := append(os.Environ(), "ZKBENCH_STATE="+filepath.Join(dir, "state"), "DOCKER_HOST=unix:///nonexistent/docker.sock")
	return cli{t: t, program: "zkbench", dir: dir, env: env}
}

func (c cli) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.program, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.dir, c.env, c.user
	return cmd
}

// call requires the exit code, and returns what is printed.
func (c cli) call(want int, args ...string) (stdout, stderr string) {
	c.t.Helper()
	var out, said bytes.Buffer
	cmd := c.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != want {
		c.t.Fatalf("zkbench %s: exit code %d, want %d: %v\n%s%s", strings.Join(args, " "), code, want, err, &out, &said)
	}
	return out.String(), said.String()
}

// The scripts in testdata are calls of zkbench with what they print and how they
// exit: bad input, and what needs no ensemble.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(env *testscript.Env) error {
			// Where PATH is taken away, the command must still be found.
			path, err := exec.LookPath("zkbench")
			env.Setenv("ZKBENCH", path)
			return err
		},
	})
}

// exits runs a command and wants exactly that exit code: exits CODE COMMAND...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		got = strconv.Itoa(failed.ExitCode())
	} else if err != nil {
		got = err.Error()
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func TestExitCode(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := exitError{errors.New("broken"), exitBroken}
	for _, row := range []struct {
		about string
		ctx   context.Context
		err   error
		want  int
	}{
		{"all is well", t.Context(), nil, 0},
		{"a guarantee was broken", t.Context(), broken, 1},
		{"a wrong call", t.Context(), usageError("no"), 2},
		{"something that nobody foresaw is not a pass", t.Context(), errors.New("?"), 3},
		{"a broken guarantee counts more than what else went wrong", t.Context(), errors.Join(errors.New("?"), broken), 1},
		{"also than what could not be judged", t.Context(), errors.Join(exitError{errors.New("?"), exitUnknown}, fmt.Errorf("and: %w", broken)), 1},
		{"an interrupted run says so", cancelled, errors.Join(context.Canceled, exitError{errors.New("?"), exitUnknown}), 130},
		{"an interrupted run that found a broken guarantee says that it was interrupted", cancelled, broken, 130},
	} {
		if got := exitCode(row.ctx, row.err); got != row.want {
			t.Errorf("%s: exit code %d, want %d", row.about, got, row.want)
		}
	}
}

// Whatever a report or a threshold names is explained.
func TestHelp_explainsEveryName(t *testing.T) {
	for page, names := range map[string][]string{"metrics": metrics.Names(), "violations": verdict.Names()} {
		text, err := helpTexts.ReadFile("help/" + page + ".md")
		must(t, err)
		whole := expandLists(string(text))
		for _, name := range names {
			if !strings.Contains(whole, "  "+name) {
				t.Errorf("zkbench help %s does not name %s", page, name)
			}
		}
		if strings.Contains("\n"+whole, "\n{{") {
			t.Errorf("zkbench help %s has a list that is not filled in", page)
		}
	}
}

// Incidents are read on a terminal: no line is longer than 80 columns, but an address is not
// broken.
func TestListIncidents_fits(t *testing.T) {
	for line := range strings.Lines(call(t, exitOK, "list", "incidents")) {
		if line = strings.TrimRight(line, "\n"); len(line) > 80 && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}
