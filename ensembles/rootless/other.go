//go:build !linux

package rootless

import (
	"context"
	"errors"
	"os/exec"
)

var errNotLinux = errors.New("network namespaces need Linux")

func ID() string { return "" }

func SetUp() error { return nil }

func Rights() error { return errNotLinux }

func Possible(context.Context) error { return errNotLinux }

func Enter(*Place, []string) error { return errNotLinux }

// Command returns a command that fails.
func Command(ctx context.Context, _ *Place, _ ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "unshare")
}
