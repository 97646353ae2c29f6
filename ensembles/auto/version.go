package auto

import (
	"context"

	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/process"
)

// Check returns an error if the distribution in the given folder cannot run members as local JVMs.
func Check(home string) error { return process.Available(home) }

// Fetch pulls the images that are not on this machine.
func Fetch(ctx context.Context, images []string, logf func(format string, args ...any)) error {
	if len(images) == 0 {
		return nil
	}
	return container.Fetch(ctx, images, logf)
}
