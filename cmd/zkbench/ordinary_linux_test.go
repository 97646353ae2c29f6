package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensembles/rootless"
)

// nobody is an ordinary user of every machine.
const nobody = 65534

// ordinary returns a function that calls the built command as a user without rights, in a
// folder of that user's own.
func ordinary(t *testing.T) (dir string, zkbench func(wantCode int, args ...string) (stdout, stderr string)) {
	t.Helper()
	if err := rootless.CheckSettings(); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "zkbench-ordinary-") // t.TempDir is for nobody else
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "zkbench")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Homes are links on some machines.
	if err := errors.Join(os.Chmod(dir, 0o755), os.Symlink(dir, filepath.Join(dir, "home"))); err != nil {
		t.Fatal(err)
	}
	as := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		as.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	call := func(wantCode int, args ...string) (string, string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(binary, args...)
		cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = dir, as, &stdout, &stderr
		cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "JAVA_HOME=" + os.Getenv("JAVA_HOME"),
			"ZOOKEEPER_HOME=" + os.Getenv("ZOOKEEPER_HOME"), "DOCKER_HOST=unix://" + filepath.Join(dir, "none.sock"), "TMPDIR=" + dir}
		err := cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != wantCode {
			t.Fatalf("zkbench %s: exit code %d, want %d: %v\n%s%s", strings.Join(args, " "), code, wantCode, err, &stdout, &stderr)
		}
		return stdout.String(), stderr.String()
	}
	t.Cleanup(func() { call(exitOK, "ensemble", "down") })
	return dir, call
}

// An ordinary user's kept ensemble has its networks in namespaces of that user's own. Every
// later call finds it there, in the folder in which it was made, and a driver finds itself
// the user that has called.
func TestEnsemble_ofAnOrdinaryUser(t *testing.T) {
	dir, zkbench := ordinary(t)
	matches := func(what, got, pattern string) {
		t.Helper()
		if !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("%s does not match %s:\n%s", what, pattern, got)
		}
	}
	_, said := zkbench(exitOK, "ensemble", "up", "--members", "1", "--tick", "500ms")
	matches("up", said, `each member has a network namespace of its own`)
	out, _ := zkbench(exitOK, "ensemble", "status")
	matches("status", out, `\n  zk1 +198\.1[89]\.[0-9.]+:2181 +leader +3\.`)
	_, said = zkbench(exitUsage, "ensemble", "up")
	matches("a second up", said, `is already up`)

	_, said = zkbench(exitBroken, "subject", "check", "--verbose", "--", "sh", "-c", "id -u >user; pwd >folder")
	matches("check", said, `kept ensemble [0-9a-f]{8} has its networks there\n(.*\n)*using kept ensemble [0-9a-f]{8}: local JVMs`)
	matches("check", said, `the driver violates 1 rule of the protocol`)
	if left, _ := filepath.Glob(filepath.Join(dir, "zkbench-driver-*")); len(left) > 0 {
		t.Errorf("of a driver that printed nothing %v is left", left)
	}
	out, _ = zkbench(exitBroken, "subject", "check", "--", "sh", "-c", "echo out of cheese >&2")
	matches("check", out, `it printed last "out of cheese"; its complete output is in `+dir+`/zkbench-driver-\d+/stderr`)
	matches("check", out, `\nthe driver's output is in `+dir+`/zkbench-driver-\d+/stderr\n`)
	if left, _ := filepath.Glob(filepath.Join(dir, "zkbench-driver-*", "*")); len(left) != 1 {
		t.Errorf("one file is kept, and there are %v", left)
	}
	if got := readLine(t, dir, "folder"); got != dir {
		t.Errorf("it was run in %s, not in %s", got, dir)
	}
	if got, want := readLine(t, dir, "user"), id(t, dir); got != want {
		t.Errorf("the driver is user %s, want %s", got, want)
	}
	out, _ = zkbench(exitOK, "ensemble", "down")
	matches("down", out, `^removed process ensemble [0-9a-f]{8} .*1 of 1 members were running, 3 network namespaces`)
	if left, err := os.ReadDir(filepath.Join(dir, ".cache", "zkbench")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func readLine(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// id is the user to whom a folder belongs.
func id(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("stat", "-c", "%u", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
