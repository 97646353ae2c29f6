//go:build !unix

package group

import (
	"os/exec"
	"syscall"
)

// Detach has no effect on this system.
func Detach(*exec.Cmd, syscall.Signal) {}
