//go:build unix

// Package group runs commands in process groups of their own.
package group

import (
	"os/exec"
	"syscall"
)

// Detach makes a command the leader of a new process group: the terminal's Ctrl-C does not reach it, so that it
// can complete. When the command's context ends, all processes of the group receive the signal.
func Detach(cmd *exec.Cmd, s syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, s) }
}
