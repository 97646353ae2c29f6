package rootless

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

// answerEnv makes this test binary say what it may do, and whether it could go inside.
const answerEnv = "ZKBENCH_TEST_ANSWER"

func TestMain(m *testing.M) {
	if err := SetUp(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(answerEnv) != "" {
		fmt.Printf("rights: %v\npossible: %v\ninside: %v\n", Rights(), Possible(context.Background()), Inside())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Each row is a way to start a process that has no rights over its network, or has them.
func TestPossible_asFarAsTheKernelLetsUs(t *testing.T) {
	if err := Possible(t.Context()); err != nil {
		t.Skip(err) // then the rows with namespaces cannot be played
	}
	// Linux 5.12 and later want CAP_SETFCAP of whoever maps the id 0, which this user has here.
	const withoutRights = "exec setpriv --bounding-set=-all,+setfcap --inh-caps=-all "
	const forbid = "echo 0 >/proc/sys/user/max_user_namespaces; "
	for _, row := range []struct {
		name, script  string
		rights, going string // what is in the answer
	}{
		{"a user without rights", withoutRights, "not have CAP_SYS_ADMIN", "possible: <nil>"},
		{"a user who may make no user namespaces", forbid + withoutRights, "not have CAP_SYS_ADMIN", "user.max_user_namespaces is 0"},
		{"root of a user namespace, in the network of another", "exec ", "its net namespace belongs to another", "possible: <nil>"},
		{"and one that may make no more of them", forbid + "exec ", "its net namespace belongs to another", "user.max_user_namespaces is 0"},
		{"root of a user namespace and of its network", "exec unshare --net --mount ", "rights: <nil>", "possible: <nil>"},
	} {
		t.Run(row.name, func(t *testing.T) {
			cmd := exec.Command("unshare", "--user", "--map-root-user", "sh", "-c", row.script+`"$0"`, os.Args[0])
			cmd.Env = append(os.Environ(), answerEnv+"=1")
			out, err := cmd.CombinedOutput()
			check.Contains(t, string(out), row.rights, row.going, "inside: false")
			check.OK(t, err)
		})
	}
}

func TestCommand_hasRightsInside(t *testing.T) {
	if err := Possible(t.Context()); err != nil {
		t.Skip(err)
	}
	cmd := Command(t.Context(), nil)
	cmd.Env = append(cmd.Env, answerEnv+"=1")
	out, err := cmd.CombinedOutput()
	check.Contains(t, string(out), "rights: <nil>", "inside: true")
	check.OK(t, err)
}
