package rootless

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

func TestRefusal_namesWhatForbidsIt(t *testing.T) {
	const unfiltered, filtered = "Name:\tzkbench\nSeccomp:\t0\n", "Name:\tzkbench\nSeccomp:\t2\nSeccomp_filters:\t1\n"
	allowed := map[string]string{
		"sys/kernel/unprivileged_userns_clone": "1\n", "sys/user/max_user_namespaces": "96365\n",
		"sys/user/max_net_namespaces": "96365\n", "sys/kernel/apparmor_restrict_unprivileged_userns": "0\n", "self/status": unfiltered,
	}
	for _, row := range []struct {
		name, file, has, why, cure string
	}{
		{"Debian's switch", "sys/kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone is 0", "sudo sysctl kernel.unprivileged_userns_clone=1"},
		{"no user namespaces at all", "sys/user/max_user_namespaces", "0\n", "user.max_user_namespaces is 0", "sudo sysctl user.max_user_namespaces=15000"},
		{"no network namespaces", "sys/user/max_net_namespaces", "0\n", "user.max_net_namespaces is 0", "sudo sysctl user.max_net_namespaces=15000"},
		{"no mount namespaces", "sys/user/max_mnt_namespaces", "0\n", "user.max_mnt_namespaces is 0", "sudo sysctl user.max_mnt_namespaces=15000"},
		{"Ubuntu's AppArmor", "sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "kernel.apparmor_restrict_unprivileged_userns is 1", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		{"a container's filter", "self/status", filtered, "seccomp", "--security-opt seccomp=unconfined"},
		{"something that nobody knows", "self/status", unfiltered, "unshare: no", "why unshare --user"},
	} {
		t.Run(row.name, func(t *testing.T) {
			proc := fstest.MapFS{}
			for file, has := range allowed {
				proc[file] = &fstest.MapFile{Data: []byte(has)}
			}
			proc[row.file] = &fstest.MapFile{Data: []byte(row.has)}
			var r *RefusedError
			if err := refusal(proc, "unshare: no"); !errors.As(err, &r) || !strings.Contains(r.Why, row.why) || !strings.Contains(r.Fix, row.cure) {
				t.Errorf("got %v", err)
			}
			if err := checkSettings(proc); (err != nil) != strings.HasPrefix(row.file, "sys/") {
				t.Errorf("by its settings alone: %v", err)
			}
		})
	}
}
