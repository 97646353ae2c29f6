//go:build !linux

package rootless

import (
	"context"
	"errors"
	"os/exec"
)

var errNotLinux = errors.New("network namespaces need Linux")

// Place is where somebody is inside.
type Place struct {
	PID     int
	Network string
}

// ID is always "": nobody is inside.
func ID() string { return "" }

// SetUp does nothing.
func SetUp() error { return nil }

// Rights says that there are no namespaces here.
func Rights() error { return errNotLinux }

// Possible says that there are no namespaces here.
func Possible(context.Context) error { return errNotLinux }

// Enter says that there are no namespaces here.
func Enter([]string) error { return errNotLinux }

// Join says that there are no namespaces here.
func Join(Place, []string) error { return errNotLinux }

// Command is a program that is not there.
func Command(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "unshare") }

// JoinCommand is a program that is not there.
func JoinCommand(ctx context.Context, _ Place, _ ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter")
}
