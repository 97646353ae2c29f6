//go:build unix

package image

import (
	"os/exec"
	"syscall"
)

// stopAsGroup makes the end of the command's context also stop its children gracefully: mmdebstrap
// then unmounts and removes its folder.
func stopAsGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
