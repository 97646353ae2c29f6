// Package rootless runs zkbench for an ordinary user in namespaces in which it has permissions that
// otherwise require root: to create network namespaces and links, drop packets, and mount. Most kernels
// allow this to users; the permissions have no effect outside.
//
// A process cannot enter them: it replaces itself by a new instance inside.
//
//	rootless.SetUp()                          // first in main: does nothing outside
//	if rootless.Rights() != nil && rootless.Possible(ctx) == nil {
//		err := rootless.Enter(nil, os.Args) // returns only on an error
//	}
//
// Inside, the user's ID is 0, and the user's files belong to root. The network has loopback and
// the links that zkbench creates. Process IDs, folders and the terminal are the same as outside, and the
// process keeps its own ID, so that signals and exit codes work.
//
// The namespaces end with their last process. A persistent ensemble keeps them, and [Enter] can enter them
// again.
package rootless

import "os"

// key is the environment variable that is set for processes inside.
const key = "ZKBENCH_ROOTLESS"

// Inside reports whether this process runs in namespaces of Enter.
func Inside() bool { return os.Getenv(key) != "" }
