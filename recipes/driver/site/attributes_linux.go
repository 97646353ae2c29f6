package site

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// detach makes the process the leader of a new group, so that its children can be killed with it and
// Ctrl-C does not reach it. The kernel kills it when the thread that started it ends.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	runAsCaller(cmd)
}

const rootless = "ZKBENCH_ROOTLESS" // see package rootless

// runAsCaller makes the process run as the calling user if this process is root only in a user namespace
// of zkbench: a runtime may look for files in its user's home.
func runAsCaller(cmd *exec.Cmd) {
	if os.Getenv(rootless) == "" {
		return
	}
	user, group := outside("/proc/self/uid_map"), outside("/proc/self/gid_map")
	if user <= 0 || group < 0 {
		return
	}
	cmd.Env = append(cmd.Env, rootless+"=") // a zkbench that is a driver must not expect to be root
	a := cmd.SysProcAttr
	a.Cloneflags |= syscall.CLONE_NEWUSER
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: 0, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: group, HostID: 0, Size: 1}}
}

// outside returns the ID outside of our user namespace for ID 0 inside; -1 if other IDs are mapped too.
func outside(idMap string) int {
	text, _ := os.ReadFile(idMap) // empty after an error
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

// mountHosts makes the calling thread, and the processes that it starts, read a file in place of /etc/hosts.
func mountHosts(file string) error {
	err := syscall.Unshare(syscall.CLONE_NEWNS)
	if err == nil {
		err = syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") // otherwise all processes would see the next mount
	}
	if err == nil {
		err = syscall.Mount(file, "/etc/hosts", "", syscall.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("mount %s over /etc/hosts for a driver: %w (run as root)", file, err)
	}
	return nil
}

func killAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // fails if the group has ended

func pauseAll(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGSTOP) }

func resumeAll(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT) }
