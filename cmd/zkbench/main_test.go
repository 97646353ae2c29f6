package main

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "4") // they wait for ensembles to start and for clients
	testscript.Main(m, map[string]func(){"zkbench": main})
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
	if err != nil {
		got = exitCodeOf(err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// Whatever a report or a threshold names is explained.
func TestHelp_explainsEveryName(t *testing.T) {
	for page, names := range map[string][]string{"metrics": metrics.Names(), "violations": verdict.Names()} {
		text, err := helpTexts.ReadFile("help/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		whole := expandLists(string(text))
		for _, name := range names {
			if !strings.Contains(whole, "  "+name) {
				t.Errorf("zkbench help %s does not name %s", page, name)
			}
		}
		for line := range strings.Lines(whole) {
			if strings.HasPrefix(line, "{{") {
				t.Errorf("zkbench help %s: %q", page, line)
			}
		}
	}
}
