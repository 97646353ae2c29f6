//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// detach keeps the terminal's Ctrl-C from a command: what heals must run to its end.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
