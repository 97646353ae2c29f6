//go:build linux

package state

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

// sleeper starts a process that does nothing, and reaps it when it ends.
func sleeper(t *testing.T, argument string) (Process, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("sleep", argument)
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be dead already
		_ = cmd.Wait()
	})
	p, err := Find(cmd.Process.Pid)
	check.OK(t, err)
	return p, cmd
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

func TestFindAll_findsByArgument(t *testing.T) {
	p, _ := sleeper(t, "3600.333")
	other, _ := sleeper(t, "3600.3333")                        // an argument that only begins like it
	check.Eventually(t, "found by its argument", func() bool { // between fork and exec it still has ours
		return slices.Equal(FindAll("3600.333"), []Process{p})
	})
	if found := FindAll("3600.333"); slices.Contains(found, other) {
		t.Errorf("found %v", found)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) b) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2 3"))
	f.Add([]byte("42 (sleep"))
	f.Add([]byte(") S"))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := parseStat(line)
		if err == nil && (s.state == "" || s.start == "") {
			t.Errorf("%q gave %+v", line, s)
		}
	})
}

func TestParseStat_readsStateAndStart(t *testing.T) {
	got, err := parseStat([]byte("42 (a) b) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2 3"))
	check.OK(t, err)
	if got != (stat{state: "S", start: "9876"}) {
		t.Errorf("got %+v", got)
	}
}
