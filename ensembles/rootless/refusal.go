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

// Refused is the error that the kernel does not allow this user to create namespaces.
type Refused struct {
	Why  string // such as "user.max_user_namespaces is 0"
	Cure string // the command or action that allows them
}

func (r *Refused) Error() string {
	return fmt.Sprintf("cannot create namespaces without root: %s (%s, or run as root)", r.Why, r.Cure)
}

// Forbidden returns a [Refused] with the kernel setting that forbids namespaces; nil if no such setting
// is found.
func Forbidden() error { return forbidden(os.DirFS("/proc")) }

func forbidden(proc fs.FS) error {
	for _, s := range settings {
		text, err := fs.ReadFile(proc, "sys/"+strings.ReplaceAll(s.name, ".", "/"))
		if err == nil && strings.TrimSpace(string(text)) == s.forbids {
			return &Refused{Why: s.name + " is " + s.forbids, Cure: "sudo sysctl " + s.name + "=" + s.allows}
		}
	}
	return nil
}

// refusal returns the reason why namespaces are forbidden, from proc (/proc). said is the attempt's error.
func refusal(proc fs.FS, said string) error {
	if err := forbidden(proc); err != nil {
		return err
	}
	if status, err := fs.ReadFile(proc, "self/status"); err == nil && strings.Contains(string(status), "\nSeccomp:\t2\n") {
		return &Refused{Why: "a seccomp filter forbids this: " + said,
			Cure: "start the container of zkbench with --security-opt seccomp=unconfined"}
	}
	return &Refused{Why: said, Cure: "ask the administrator of this machine why unshare --user --map-root-user --net --mount is refused"}
}
