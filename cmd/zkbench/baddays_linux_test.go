package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes/driver/host"
)

// A full disk stops the trial; what was written stays, and the exit code says that
// nothing could be judged. The disk is a small file system in memory.
func TestRun_diskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount a small file system to fill")
	}
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(small, syscall.MNT_DETACH) })
	out := filepath.Join(small, "out")
	r := startHerd(t, "--out", out, "--set", "phases.1.hold=0s", "--set", "phases.1.faults=[]")
	if code := r.end(); code != "3" {
		t.Errorf("exit code %s, want 3; it said:\n%s", code, strings.Join(r.said, "\n"))
	}
	if said := strings.Join(r.said, "\n"); !strings.Contains(said, "no space left on device") {
		t.Errorf("it does not say that the disk is full:\n%s", said)
	}
	if h, err := filepath.Glob(filepath.Join(out, "history", "*.zst")); err != nil || len(h) != 1 {
		t.Errorf("the history is not kept: %v %v", h, err)
	}
	r.gone()
}

// A run whose members were all killed from outside ends by itself, as unknown, and names them.
func TestRun_endsWhenNoMemberServes(t *testing.T) {
	r := startHerd(t, "--set", "phases.1.faults=[]", "--set", "session_timeout=4s")
	r.await("3 clients: churn")
	self, err := process.NewProcess(int32(r.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	children, err := self.Children()
	if err != nil || len(children) < 3 {
		t.Fatalf("%d members found: %v", len(children), err)
	}
	for _, p := range children {
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	code := r.end()
	said := strings.Join(r.said, "\n")
	if code != "3" || !regexp.MustCompile(`could not serve for [0-9]+s although no injected fault was active: zk1: .*refused, zk2: .*, zk3: `).MatchString(said) {
		t.Errorf("exit code %s, and it does not name the members:\n%s", code, said)
	}
	r.gone()
}

// A driver may be started by a script. The kernel ends what we have started ourselves together
// with us, and not what that has started; and what is stopped does not end by itself.
func TestRun_killedWhileADriverIsPausedAndDownSweeps(t *testing.T) {
	r := startHerd(t, "--exec", `lock/scripted=sh -c "zkbench driver lock/predecessor; true"`, "--set", "subjects=[lock/scripted]",
		"--set", "phases.1.faults=[{at: 100ms, fault: client.pause, target: 0, for: 50s}]")
	r.await("fault: client.pause")
	owner, err := state.Find(r.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	drivers := func() (left, stopped int) {
		for p, by := range state.FindByVariable(host.Mark) {
			if by == owner.String() {
				left++
				if p.Stopped() {
					stopped++
				}
			}
		}
		return left, stopped
	}
	if left, stopped := drivers(); left != 6 || stopped != 2 { // a shell and what it has started, for each of three clients
		t.Errorf("%d processes of drivers, of which %d are stopped; want 6 and 2", left, stopped)
	}
	r.Process.Kill()
	r.end()
	r.sweep()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		left, stopped := drivers()
		if left == 0 {
			break
		}
		if time.Since(begun) > 20*time.Second {
			t.Errorf("%d processes of drivers are left, %d of them stopped", left, stopped)
			break
		}
	}
	r.gone()
}

// Whom a driver has started, and who has left its group, ends with the run.
func TestRun_endsWhoHasLeftADriver(t *testing.T) {
	r := startHerd(t, "--exec", `lock/leaving=sh -c "setsid sleep 600 & exec zkbench driver lock/predecessor"`, "--set", "subjects=[lock/leaving]",
		"--set", "phases.1.duration=1s", "--set", "phases.1.faults=[]")
	owner, err := state.Find(r.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	code := r.end()
	said := strings.Join(r.said, "\n")
	// On a loaded machine a verdict may be unknown.
	if code != "0" && code != "3" || strings.Count(said, "leftover driver process") != 1 {
		t.Errorf("exit code %s, or it does not say whom it has killed:\n%s", code, said)
	}
	for p, by := range state.FindByVariable(host.Mark) {
		if by == owner.String() {
			t.Errorf("process %d is left", p.PID)
		}
	}
	r.gone()
}
