//go:build unix

package image

import (
	"os/exec"
	"syscall"
)

// stopAsGroup makes the end of the command's context end what the command has
// started as well, politely: mmdebstrap unmounts and removes its folder then.
func stopAsGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
