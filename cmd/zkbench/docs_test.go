package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes/driver/host"
)

// documented are the files whose commands and links are held to what there is.
func documented(t *testing.T) map[string]string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	must(t, err)
	out := map[string]string{}
	for _, file := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(file)
		must(t, err)
		out[file] = string(text)
	}
	return out
}

// Every command in the documentation is executed, on a machine that has neither Java nor Docker:
// what needs an ensemble gets as far as that, with exit code 3, and a command that is wrong
// exits with 2. Those that would touch other ensembles of this machine are asked for their help
// only.
func TestDocs_commandsWork(t *testing.T) {
	line := regexp.MustCompile(`(?m)^ *(?:bin/|go run \./cmd/)?(zkbench .*)$`)
	writes := regexp.MustCompile(`^zkbench (run|audit) `)
	server := regexp.MustCompile(`zk(\d+):2181`)
	ran := 0
	for file, text := range documented(t) {
		commands := line.FindAllStringSubmatch(indentedOnly(text), -1)
		ran += len(commands)
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			sh := bare(t)
			for i, found := range commands {
				command := server.ReplaceAllString(found[1], "127.0.0.1:$1") // where nobody listens
				if strings.HasPrefix(command, "zkbench ensemble ") {
					command = strings.Join(strings.Fields(command)[:3], " ") + " --help"
				}
				if !strings.Contains(command, "--out") { // the default is one a second
					command = writes.ReplaceAllString(command, fmt.Sprintf("${0}--out new-%d ", i))
				}
				code, said := sh(command)
				for _, absent := range []string{host.ErrExited.Error(), "is this its client port?", "that this is their client port"} {
					if code == exitUsage && strings.Contains(said, absent) {
						code = exitUnknown // the driver or the servers of the example are not there
					}
				}
				if code == exitUsage || code > 3 {
					t.Errorf("%s\nexit code %d: %s", command, code, said)
				}
			}
		})
	}
	if ran < 20 {
		t.Errorf("only %d commands were found", ran)
	}
}

// indentedOnly is the code of a page: lines that are indented, and those between fences of a
// shell.
func indentedOnly(text string) string {
	var out []string
	fence := ""
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```") && fence == "":
			fence = strings.TrimSpace(line)
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fence = ""
		case fence == "```sh", fence == "" && strings.HasPrefix(line, "    "):
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// bare is a shell in a folder with the runs that the documentation speaks of, which finds
// zkbench, git and Python, and nothing else.
func bare(t *testing.T) func(command string) (code int, said string) {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"zkbench", "git", "python3"} {
		path, err := exec.LookPath(name)
		must(t, err)
		must(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	for _, run := range []string{"my-run", "old-run", "new-run", "ci-run", "run-1", "run-2", "run-3", "zkbench-out/run"} {
		must(t, os.CopyFS(filepath.Join(dir, run), os.DirFS("testdata/run")))
	}
	log, err := os.ReadFile("../../ensembles/txnlog/testdata/zookeeper-3.8.0.log")
	must(t, err)
	for _, member := range []string{"zk1", "zk2", "zk3"} {
		must(t, os.Mkdir(filepath.Join(dir, member), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, member, "log.100000001"), log, 0o644))
	}
	shell(t, dir, nil, "git", "init", "-q")
	env := []string{"PATH=" + bin, "HOME=" + dir, "JAVA_HOME=", "ZOOKEEPER_HOME=", "DOCKER_HOST=unix://" + dir + "/none.sock", "ZKBENCH_STATE=" + dir + "/state", "TMPDIR=" + dir}
	return func(command string) (int, string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || ctx.Err() != nil {
			t.Fatalf("%s: %v: %s", command, err, said)
		}
		return cmd.ProcessState.ExitCode(), string(said)
	}
}

// What a page links to, and the targets of make that it names, are there.
func TestDocs_linksAndTargets(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	must(t, err)
	for file, text := range documented(t) {
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), link[1])); err != nil {
				t.Errorf("%s links to %s: %v", filepath.Base(file), link[1], err)
			}
		}
		for _, target := range regexp.MustCompile(`(?m)^    make (\w+)`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(string(makefile), "\n"+target[1]+":") {
				t.Errorf("%s: make %s: there is no such target", filepath.Base(file), target[1])
			}
		}
	}
}
