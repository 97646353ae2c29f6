//go:build unix

package image

import (
	"os/exec"
	"syscall"
)

// stopAsGroup makes the command and its children stop gracefully when the context ends: mmdebstrap then
// unmounts and removes its folder.
func stopAsGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
