package chaos

import (
	"context"
	"fmt"
)

// What we looked for and did not find is an honest way to hurt one member's disk:
// one that leaves the disk of every other run as it is. A small tmpfs can be filled,
// but then every latency is that of memory, fault or not; a loop device or a
// throttled control group needs rights that neither Docker nor a container gives.
// They stay in the catalogue, so that nobody looks for them elsewhere.
var (
	diskFull = absent("disk.full", "the member's disk has no room left",
		"a data folder on a file system of its own that is a real disk and can be filled; on a tmpfs every commit would be as fast as memory, in every run")
	diskSlow = absent("disk.slow", "the member's forced writes take longer",
		"a block device of the member's own that can be throttled (loop device or io.max in a control group), which needs more than root in a container")
)

func absent(name, about, needs string) Kind {
	return Kind{
		Name: name, About: about, Needs: needs, Members: true, Target: Follower, Aims: memberAims,
		Proof:  "none: it is unavailable",
		Absent: "unavailable: it needs " + needs,
		build:  func(string, settings) Fault { return unavailable{name} },
	}
}

// unavailable is a fault that no machine can have.
type unavailable struct{ name string }

func (f unavailable) String() string { return f.name }

// Inject returns an error that wraps ErrSkipped.
func (f unavailable) Inject(context.Context, Target) (Effect, error) {
	return Effect{}, fmt.Errorf("%s: %w: there is no honest way to have it yet", f.name, ErrSkipped)
}
