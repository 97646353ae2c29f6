package chaos

import "github.com/zkbench/zkbench/ensembles"

// member.kill is a crash. Healing starts the process again with the same data and
// address.
var _ = register(Kind{
	Name:   "member.kill",
	About:  "kills a member's process (SIGKILL), and starts it again to heal",
	Proof:  "the process has ended, and srvr gets no answer",
	Target: Leader, Targets: membersTargets,
	needs: []need{needsKill},
	build: func(target string, _ settings) injector { return takesDown(target, "killed", ensembles.Machine.Kill) },
})
