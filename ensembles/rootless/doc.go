// Package rootless gives an ordinary user namespaces in which zkbench has permissions that
// otherwise need root: to create network namespaces and links, drop packets, mount. The kernel
// allows them to most users; they have no effect outside.
//
// A process cannot move there: it replaces itself by a new instance inside.
//
//	rootless.SetUp()                          // first in main: does nothing outside
//	if rootless.Rights() != nil && rootless.Possible(ctx) == nil {
//		err := rootless.Enter(os.Args)    // returns only on an error
//	}
//
// Inside, the user's ID is 0, and the user's files belong to root. The network has loopback and
// what zkbench creates. Process IDs, folders and the terminal are the same as outside, and the
// process keeps its own ID, so that signals and exit codes work.
//
// The namespaces end with their last process. A persistent ensemble keeps them; [Join] enters them
// again.
package rootless

import "os"

// key is set in the environment of processes inside.
const key = "ZKBENCH_ROOTLESS"

// Inside reports whether this process runs in namespaces of Enter or Join.
func Inside() bool { return os.Getenv(key) != "" }
