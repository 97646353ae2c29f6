//go:build !linux

package rootless

import (
	"context"
	"errors"
	"os/exec"
)

var errNotLinux = errors.New("network namespaces need Linux")

type Place struct {
	PID     int
	Network string
}

// ID returns "".
func ID() string { return "" }

func SetUp() error { return nil }

// Rights returns an error: namespaces need Linux.
func Rights() error { return errNotLinux }

// Possible returns an error: namespaces need Linux.
func Possible(context.Context) error { return errNotLinux }

// Enter returns an error: namespaces need Linux.
func Enter([]string) error { return errNotLinux }

// Join returns an error: namespaces need Linux.
func Join(Place, []string) error { return errNotLinux }

// Command returns a command that fails.
func Command(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "unshare") }

// JoinCommand returns a command that fails.
func JoinCommand(ctx context.Context, _ Place, _ ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter")
}
