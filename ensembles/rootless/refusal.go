package rootless

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
)

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
