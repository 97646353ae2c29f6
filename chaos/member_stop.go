package chaos

import "github.com/zkbench/zkbench/ensembles"

// member.stop stops a process as for maintenance. Healing starts it again with the same data and
// address.
var _ = register(Kind{
	Name:   "member.stop",
	About:  "stops a member's process (SIGTERM), and starts it again to heal",
	Proof:  "the process has ended, and srvr gets no answer",
	Target: Leader, Targets: membersTargets,
	needs: []need{needsProcess},
	build: func(target string, _ settings) injector { return takesDown(target, "stopped", ensembles.Machine.Stop) },
})
