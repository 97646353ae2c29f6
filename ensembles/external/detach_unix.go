//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// detach protects a command from the terminal's Ctrl-C: healing must complete. When the command's
// context ends, all processes that it has started are killed: they must not stop a member after
// that was healed.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
