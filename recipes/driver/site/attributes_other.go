//go:build !linux

package site

import (
	"errors"
	"os/exec"
)

func detach(*exec.Cmd) {}

func killAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

var errNoPause = errors.New("processes can be paused only on Linux")

func mountHosts(string) error {
	return errors.New("drivers can have a hosts file of their own only on Linux")
}

func pauseAll(*exec.Cmd) error { return errNoPause }

func resumeAll(*exec.Cmd) error { return nil }
