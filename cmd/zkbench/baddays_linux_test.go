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
	r.end(exitUnknown)
	contains(t, r.said, "no space left on device")
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
	must(t, err)
	children, err := self.Children()
	if err != nil || len(children) < 3 {
		t.Fatalf("%d members found: %v", len(children), err)
	}
	for _, p := range children {
		must(t, p.Kill())
	}
	r.end(exitUnknown)
	if !regexp.MustCompile(`could not serve for [0-9]+s although no injected fault was active: zk1: .*refused, zk2: .*, zk3: `).MatchString(r.said) {
		t.Errorf("it does not name the members:\n%s", r.said)
	}
	r.gone()
}

// drivers counts the processes of the run's drivers, and those of them that are stopped. They are known
// by their mark also after the run has ended.
func (r *running) drivers() (count func() (left, stopped int)) {
	owner, err := state.Find(r.Process.Pid)
	must(r.t, err)
	return func() (left, stopped int) {
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
}

// A driver may be started by a script. The kernel ends what we have started ourselves together
// with us, and not what that has started; and what is stopped does not end by itself.
func TestRun_killedInAPartitionWhileADriverIsPausedAndDownSweeps(t *testing.T) {
	r := startHerd(t, "--exec", `lock/scripted=sh -c "zkbench driver lock/predecessor; true"`, "--set", "subjects=[lock/scripted]",
		"--set", "phases.1.faults=[{at: 100ms, fault: partition.isolate, target: leader, for: 50s}, "+
			"{at: 1s, fault: client.pause, target: 0, for: 50s}]")
	r.await("fault: partition.isolate")
	r.await("client.pause")
	drivers := r.drivers()
	if left, stopped := drivers(); left != 6 || stopped != 2 { // a shell and what it has started, for each of three clients
		t.Errorf("%d processes of drivers, of which %d are stopped; want 6 and 2", left, stopped)
	}
	r.Process.Kill()
	r.end(-1)
	out, _ := r.call(exitOK, "ensemble", "down")
	contains(t, out, "removed")
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
	drivers := r.drivers()
	r.end(exitOK, exitUnknown) // on a loaded machine a verdict may be unknown
	if strings.Count(r.said, "leftover driver process") != 1 {
		t.Errorf("it does not say whom it has killed:\n%s", r.said)
	}
	if left, _ := drivers(); left != 0 {
		t.Errorf("%d processes of drivers are left", left)
	}
	r.gone()
}
