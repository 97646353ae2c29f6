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

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// key is the environment variable that is set for processes inside.
const key = "ZKBENCH_ROOTLESS"

// Place identifies namespaces: a process inside, and the path at which it sees the network namespace.
type Place struct {
	PID     int
	Network string
}

// Inside reports whether this process runs in namespaces of Enter.
func Inside() bool { return os.Getenv(key) != "" }

// settings are the kernel settings, with files below /proc/sys, that can forbid namespaces to users.
var settings = []struct{ name, forbids, allows string }{
	{"kernel.unprivileged_userns_clone", "0", "1"},
	{"user.max_user_namespaces", "0", "15000"},
	{"user.max_net_namespaces", "0", "15000"},
	{"user.max_mnt_namespaces", "0", "15000"},
	{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},
}

// RefusedError is the error that the kernel does not allow this user to create namespaces.
type RefusedError struct {
	Why string // such as "user.max_user_namespaces is 0"
	Fix string // the command or action that allows them
}

func (r *RefusedError) Error() string {
	return fmt.Sprintf("cannot create namespaces without root: %s (%s, or run as root)", r.Why, r.Fix)
}

// CheckSettings returns a [RefusedError] with the kernel setting that forbids namespaces, or nil.
func CheckSettings() error { return checkSettings(os.DirFS("/proc")) }

func checkSettings(proc fs.FS) error {
	for _, s := range settings {
		text, err := fs.ReadFile(proc, "sys/"+strings.ReplaceAll(s.name, ".", "/"))
		if err == nil && strings.TrimSpace(string(text)) == s.forbids {
			return &RefusedError{Why: s.name + " is " + s.forbids, Fix: "sudo sysctl " + s.name + "=" + s.allows}
		}
	}
	return nil
}

// refusal returns the reason why namespaces are forbidden, from proc (/proc). output is the attempt's error.
func refusal(proc fs.FS, output string) error {
	if err := checkSettings(proc); err != nil {
		return err
	}
	if status, err := fs.ReadFile(proc, "self/status"); err == nil && strings.Contains(string(status), "\nSeccomp:\t2\n") {
		return &RefusedError{Why: "a seccomp filter forbids this: " + output,
			Fix: "start the container of zkbench with --security-opt seccomp=unconfined"}
	}
	return &RefusedError{Why: output, Fix: "ask the administrator of this machine why unshare --user --map-root-user --net --mount is refused"}
}
