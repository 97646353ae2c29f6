//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ensembleCLI returns a function that calls the built command. A process of its own
// is needed: an ensemble is kept only when whoever started it has ended.
func ensembleCLI(t *testing.T) func(wantCode int, args ...string) (stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "zkbench")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := append(os.Environ(), "ZKBENCH_STATE="+filepath.Join(dir, "state"),
		"DOCKER_HOST=unix://"+filepath.Join(dir, "none.sock")) // what others keep in Docker is not ours to see
	call := func(wantCode int, args ...string) (string, string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(binary, args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &stdout, &stderr
		err := cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != wantCode {
			t.Fatalf("zkbench %s: exit code %d, want %d: %v\n%s%s", strings.Join(args, " "), code, wantCode, err, &stdout, &stderr)
		}
		return stdout.String(), stderr.String()
	}
	t.Cleanup(func() { call(exitOK, "ensemble", "down") })
	return call
}

func TestEnsemble(t *testing.T) {
	zkbench := ensembleCLI(t)
	matches := func(what, got, pattern string) {
		t.Helper()
		if !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("%s does not match %s:\n%s", what, pattern, got)
		}
	}
	out, _ := zkbench(exitOK, "ensemble", "status")
	matches("status of none", out, `^no ensemble is up \(zkbench ensemble up starts one\)\n$`)
	out, _ = zkbench(exitOK, "ensemble", "down")
	matches("down of none", out, `^nothing to remove\n$`)

	out, said := zkbench(exitOK, "ensemble", "up", "--members", "2", "--observers", "1", "--tick", "1s")
	matches("up", out, `^ensemble [0-9a-f]{8} is up: local JVMs, ZooKeeper 3\.\S+ from .*\n[0-9.]+:\d+,[0-9.]+:\d+,[0-9.]+:\d+\n$`)
	matches("what up says", said, `local JVMs instead of containers: .*none.sock`)

	out, _ = zkbench(exitOK, "ensemble", "status")
	matches("status", out, `^ensemble [0-9a-f]{8}: process, \S+, tick 1s, since .*, kept\n  MEMBER +ADDRESS +MODE +VERSION +ZXID +CONNECTIONS\n`)
	matches("the leader's line", out, `\n  zk[12] +[0-9.]+:\d+ +leader +3\.\S+ +0x\w+ +\d+\n`)
	matches("the follower's line", out, `\n  zk[12] +[0-9.]+:\d+ +follower +3\.\S+ +0x\w+ +\d+\n`)
	matches("the observer's line", out, `\n  zk3 +[0-9.]+:\d+ +observer +3\.\S+ +0x\w+ +\d+\n`)

	_, said = zkbench(exitUsage, "ensemble", "up")
	matches("a second up", said, `is already up .*zkbench ensemble down`)

	out, _ = zkbench(exitOK, "ensemble", "down")
	matches("down", out, `^removed process ensemble [0-9a-f]{8} .*3 of 3 members were running`)
	out, _ = zkbench(exitOK, "ensemble", "status")
	matches("status after down", out, `^no ensemble is up`)
}

func TestEnsemble_wrongCalls(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"nobody can keep up what is somebody else's", []string{"up", "--ensemble", "external"}, "choose auto, container or process"},
		{"an ensemble without members", []string{"up", "--members", "0"}, "--members 0: must be between 1 and 9"},
		{"fewer observers than none", []string{"up", "--observers", "-1"}, "--observers -1"},
		{"an image for local JVMs", []string{"up", "--ensemble", "process", "--image", "x"}, "--image is for --ensemble container"},
		{"an argument too many", []string{"down", "now"}, "takes no arguments: remove now"},
		{"a flag that is none", []string{"up", "--member", "3"}, "unknown flag --member"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"ensemble"}, test.args...), &stdout, &stderr)
			if code != exitUsage || !strings.Contains(stderr.String(), test.want) {
				t.Errorf("exit code %d, %q; want %d and %q in it", code, stderr.String(), exitUsage, test.want)
			}
		})
	}
}
