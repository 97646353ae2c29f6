//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// detach protects a command from the terminal's Ctrl-C, so that healing completes. When the command's
// context ends, all processes of the command are killed, so that they cannot stop a member after it
// was healed.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
