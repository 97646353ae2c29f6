//go:build linux

package state

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

// sleeper starts a process that does nothing, and reaps it when it ends.
func sleeper(t *testing.T, argument string) (Process, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("sleep", argument)
	return started(t, cmd), cmd
}

// started starts a command that ends with the test.
func started(t *testing.T, cmd *exec.Cmd) Process {
	t.Helper()
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be dead already
		_ = cmd.Wait()
	})
	p, err := Find(cmd.Process.Pid)
	check.OK(t, err)
	return p
}

func TestProcess_isAliveUntilItEnds(t *testing.T) {
	if !Self().Alive() {
		t.Error("we are not alive")
	}
	if (Process{}).Alive() {
		t.Error("nobody is alive")
	}
	if p := Self(); (Process{PID: p.PID, Start: p.Start + "1"}).Alive() {
		t.Error("another process that had our id is alive")
	}
	p, cmd := sleeper(t, "3600.1")
	check.OK(t, p.Signal(syscall.SIGKILL))
	check.Eventually(t, "a zombie is not alive", func() bool { return !p.Alive() })
	_ = cmd.Wait() // its error is that it was killed
	check.OK(t, p.Signal(syscall.SIGKILL))
}

func TestProcess_signalsNobodyElse(t *testing.T) {
	p, _ := sleeper(t, "3600.2")
	impostor := Process{PID: p.PID, Start: p.Start + "1"} // who had this id before
	check.OK(t, impostor.Signal(syscall.SIGKILL))
	check.OK(t, p.Signal(syscall.SIGSTOP))
	check.Eventually(t, "it is stopped, not killed", p.Stopped)
	if !p.Alive() {
		t.Error("a stopped process is not alive")
	}
	check.OK(t, p.Signal(syscall.SIGCONT))
	check.Eventually(t, "it goes on", func() bool { return !p.Stopped() })
}

func TestProcess_killReturnsAfterItsEnd(t *testing.T) {
	for i := range 20 {
		p, _ := sleeper(t, fmt.Sprintf("3600.1%d", i))
		check.OK(t, p.Kill())
		if p.Alive() {
			t.Fatal("it is still there")
		}
	}
}

func TestFindAll_findsByArgument(t *testing.T) {
	p, _ := sleeper(t, "3600.333")
	sleeper(t, "3600.3333")                                                // an argument that only begins like it
	check.Eventually(t, "it alone is found by its argument", func() bool { // between fork and exec it still has ours
		return slices.Equal(FindAll("3600.333"), []Process{p})
	})
}

func TestFind_readsPastTheNameOfTheCommand(t *testing.T) {
	program, err := exec.LookPath("sleep")
	check.OK(t, err)
	named := filepath.Join(t.TempDir(), "a) S 1 (b")
	check.OK(t, os.Symlink(program, named))
	p := started(t, exec.Command(named, "3600.4"))
	check.Eventually(t, "it has its name", func() bool { return slices.Equal(FindAll("3600.4"), []Process{p}) })
	if !p.Alive() {
		t.Errorf("%+v is not alive", p)
	}
	check.OK(t, p.Signal(syscall.SIGSTOP))
	check.Eventually(t, "it is stopped", p.Stopped)
}

// An agent in a container marks what it starts with its own id there, which nobody or
// somebody else has here.
func TestMarked_leavesOtherNamespacesAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making a PID namespace needs root")
	}
	const variable = "ZKBENCH_TEST_MARK"
	start := func(flags uintptr) Process {
		cmd := exec.Command("sleep", "3600.7")
		cmd.Env = append(os.Environ(), variable+"=somebody")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		return started(t, cmd)
	}
	here, elsewhere := start(0), start(syscall.CLONE_NEWPID)
	found := FindByVariable(variable)
	if found[here] != "somebody" {
		t.Errorf("%v is not found: %v", here, found)
	}
	if _, is := found[elsewhere]; is {
		t.Errorf("%v of another namespace is found", elsewhere)
	}
}
