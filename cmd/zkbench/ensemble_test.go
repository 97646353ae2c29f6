//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensembles/rootless"
)

// matches fails the test unless text matches each of the patterns.
func matches(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("no %s in\n%s", pattern, text)
		}
	}
}

// An ensemble is kept only when the process that started it has ended.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	zkbench := newCLI(t)
	t.Cleanup(func() { zkbench.call(exitOK, "ensemble", "down") })
	out, _ := zkbench.call(exitOK, "ensemble", "status")
	matches(t, out, `^no ensemble is up \(zkbench ensemble up starts one\)\n$`)
	out, _ = zkbench.call(exitOK, "ensemble", "down")
	matches(t, out, `^nothing to remove\n$`)

	out, said := zkbench.call(exitOK, "ensemble", "up", "--members", "2", "--observers", "1", "--tick", "1s")
	matches(t, out, `^ensemble [0-9a-f]{8} is up: local JVMs, ZooKeeper 3\.\S+ from .*\n[0-9.]+:\d+,[0-9.]+:\d+,[0-9.]+:\d+\n$`)
	matches(t, said, `local JVMs instead of containers: .*docker.sock`)
	out, _ = zkbench.call(exitOK, "ensemble", "status")
	matches(t, out, `^ensemble [0-9a-f]{8}: process, \S+, tick 1s, since .*, kept\n  MEMBER +ADDRESS +MODE +VERSION +ZXID +CONNECTIONS\n`,
		`\n  zk[12] +[0-9.]+:\d+ +leader +3\.\S+ +0x\w+ +\d+\n`,
		`\n  zk[12] +[0-9.]+:\d+ +follower +3\.\S+ +0x\w+ +\d+\n`,
		`\n  zk3 +[0-9.]+:\d+ +observer +3\.\S+ +0x\w+ +\d+\n`)
	_, said = zkbench.call(exitUsage, "ensemble", "up")
	matches(t, said, `is already up .*zkbench ensemble down`)

	out, _ = zkbench.call(exitOK, "ensemble", "down")
	matches(t, out, `^removed process ensemble [0-9a-f]{8} .*3 of 3 members were running`)
	out, _ = zkbench.call(exitOK, "ensemble", "status")
	matches(t, out, `^no ensemble is up`)
}

func TestEnsemble_wrongCalls(t *testing.T) {
	for args, want := range map[string]string{
		"up --ensemble external":          "choose auto, container or process",
		"up --members 0":                  "--members 0: must be between 1 and 9",
		"up --observers -1":               "--observers -1",
		"up --ensemble process --image x": "--image is for --ensemble container",
		"up --member 3":                   "unknown flag --member",
		"down now":                        "takes no arguments: remove now",
	} {
		contains(t, call(t, exitUsage, strings.Fields("ensemble "+args)...), want)
	}
}

// nobody is an ordinary user of every machine.
const nobody = 65534

// ordinary returns a zkbench of a user without rights, in a folder of that user's own.
func ordinary(t *testing.T) cli {
	t.Helper()
	if err := rootless.CheckSettings(); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "zkbench-ordinary-") // t.TempDir is for nobody else
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err)
	c := cli{t: t, program: filepath.Join(dir, "zkbench"), dir: dir, user: &syscall.SysProcAttr{}}
	must(t, os.WriteFile(c.program, program, 0o755))
	must(t, os.Chmod(dir, 0o755))
	home := filepath.Join(dir, "home") // homes are links on some machines
	must(t, os.Symlink(dir, home))
	if os.Geteuid() == 0 {
		c.user.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		must(t, os.Chown(dir, nobody, nobody))
	}
	c.env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "JAVA_HOME=" + os.Getenv("JAVA_HOME"),
		"ZOOKEEPER_HOME=" + os.Getenv("ZOOKEEPER_HOME"), "DOCKER_HOST=unix://" + filepath.Join(dir, "none.sock"), "TMPDIR=" + dir}
	return c
}

// An ordinary user's persistent ensemble has its networks in namespaces of that user's own. Every
// later call finds it there, in the folder in which it was made, and a driver finds itself
// the user that has called.
func TestEnsemble_ofAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	zkbench := ordinary(t)
	t.Cleanup(func() { zkbench.call(exitOK, "ensemble", "down") })
	_, said := zkbench.call(exitOK, "ensemble", "up", "--members", "1", "--tick", "500ms")
	matches(t, said, `each member has a network namespace of its own`)
	out, _ := zkbench.call(exitOK, "ensemble", "status")
	matches(t, out, `\n  zk1 +198\.1[89]\.[0-9.]+:2181 +leader +3\.`)
	_, said = zkbench.call(exitUsage, "ensemble", "up")
	matches(t, said, `is already up`)

	_, said = zkbench.call(exitBroken, "subject", "check", "--verbose", "--", "sh", "-c", "id -u >user; pwd >folder")
	matches(t, said, `persistent ensemble [0-9a-f]{8} has its networks there\n(.*\n)*using persistent ensemble [0-9a-f]{8}: local JVMs`,
		`the driver violates 1 rule of the protocol`)
	if left, _ := filepath.Glob(filepath.Join(zkbench.dir, "zkbench-driver-*")); len(left) > 0 {
		t.Errorf("of a driver that printed nothing %v is left", left)
	}
	zkbench.call(exitOK, "run", "move", "--members", "1", "--subject", "lock/predecessor", "--clients", "2", "--set", "phases.0.duration=10s")
	out, _ = zkbench.call(exitBroken, "subject", "check", "--", "sh", "-c", "echo out of cheese >&2")
	matches(t, out, `it printed last "out of cheese"; its complete output is in `+zkbench.dir+`/zkbench-driver-\d+/stderr`,
		`\nthe driver's output is in `+zkbench.dir+`/zkbench-driver-\d+/stderr\n`)
	if left, _ := filepath.Glob(filepath.Join(zkbench.dir, "zkbench-driver-*", "*")); len(left) != 1 {
		t.Errorf("one file is kept, and there are %v", left)
	}
	info, err := os.Stat(zkbench.dir)
	must(t, err)
	for name, want := range map[string]string{"folder": zkbench.dir, "user": fmt.Sprint(info.Sys().(*syscall.Stat_t).Uid)} {
		got, err := os.ReadFile(filepath.Join(zkbench.dir, name))
		if err != nil || string(got) != want+"\n" {
			t.Errorf("the driver's %s is %q, want %s: %v", name, got, want, err)
		}
	}
	out, _ = zkbench.call(exitOK, "ensemble", "down")
	matches(t, out, `^removed process ensemble [0-9a-f]{8} .*1 of 1 members were running, 3 network namespaces`)
	if left, err := os.ReadDir(filepath.Join(zkbench.dir, ".cache", "zkbench")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
