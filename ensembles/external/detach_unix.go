//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// detach keeps the terminal's Ctrl-C from a command: what heals must run to its end. When the
// command's context ends, so does all that the command has started: it must not stop a member
// later, when that is healed.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
