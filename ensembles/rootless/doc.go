// Package rootless gives an ordinary user namespaces in which zkbench may do what otherwise
// takes root: make network namespaces and links, drop packets, mount. The kernel lets most
// users make them, and nothing in them reaches beyond them.
//
// A process cannot move there: it is replaced by itself, started anew inside.
//
//	rootless.SetUp()                          // first in main: does nothing outside
//	if rootless.Rights() != nil && rootless.Possible(ctx) == nil {
//		err := rootless.Enter(os.Args)    // returns only where it fails
//	}
//
// Inside, the user's id is 0, and the user's files are root's: that is how the kernel
// shows them there. The network has loopback and what zkbench makes, and nothing else.
// Process ids, folders and the terminal are the same as outside, and the process keeps its
// own id, so that signals and exit codes are those of the program that was called.
//
// The namespaces end with the last process in them. An ensemble that is kept keeps them;
// [Join] enters them again.
package rootless

import "os"

// key is set in the environment of whoever is inside.
const key = "ZKBENCH_ROOTLESS"

// Inside reports whether this process runs in namespaces that Enter or Join led to.
func Inside() bool { return os.Getenv(key) != "" }
