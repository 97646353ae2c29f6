package chaos

import (
	"context"
	"fmt"
)

// No machine can hurt one member's disk and leave the disk of every other run as it
// is. A small tmpfs can be filled, but then every commit has the latency of memory,
// fault or not; a loop device or a throttled control group needs rights that neither
// Docker nor a container gives. The kinds are listed with that reason.
var (
	_ = unavailable("disk.full", "the member's disk has no room left",
		"a data folder on a file system of its own that is a real disk and can be filled; on a tmpfs every commit would be as fast as memory, in every run")
	_ = unavailable("disk.slow", "the member's forced writes take longer",
		"a block device of the member's own that can be throttled (loop device or io.max in a control group), which needs more than root in a container")
)

// unavailable registers a kind of fault that no machine can have.
func unavailable(name, about, needs string) Kind {
	missing := fmt.Errorf("unavailable: it needs %s", needs)
	return register(Kind{
		Name: name, About: about, Proof: "none: it is unavailable",
		needs:  []need{{about: needs, members: true, missing: func(Abilities) error { return missing }}},
		Target: Follower, Targets: memberTargets,
		build: func(string, settings) injector {
			return func(context.Context, Target) (Effect, error) {
				return Effect{}, fmt.Errorf("%w: no machine can have it", ErrSkipped)
			}
		},
	})
}
