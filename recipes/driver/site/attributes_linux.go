package site

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// detach makes the process the leader of a group of its own, so that all that it starts
// ends with it, and so that Ctrl-C is for us alone. The kernel ends it when the thread ends
// that has started it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	asOneself(cmd.SysProcAttr)
}

// asOneself lets a driver find itself the user that has called us, where we are root only
// in a user namespace that zkbench has made: a runtime may look for its files in the home of
// whom it takes itself for.
func asOneself(a *syscall.SysProcAttr) {
	if os.Getenv("ZKBENCH_ROOTLESS") == "" { // see package rootless
		return
	}
	user, group := outside("/proc/self/uid_map"), outside("/proc/self/gid_map")
	if user <= 0 || group < 0 {
		return
	}
	a.Cloneflags |= syscall.CLONE_NEWUSER
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: 0, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: group, HostID: 0, Size: 1}}
}

// outside returns who our id 0 is outside of our user namespace; -1 where that is not the
// only id in it.
func outside(idMap string) int {
	text, _ := os.ReadFile(idMap) // empty then
	fields := strings.Fields(string(text))
	if len(fields) != 3 || fields[0] != "0" || fields[2] != "1" {
		return -1
	}
	id, err := strconv.Atoi(fields[1])
	if err != nil {
		return -1
	}
	return id
}

// killAll ends the process and all that it has started.
func killAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // fails where nothing is left

func pauseAll(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGSTOP) }

func resumeAll(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT) }
