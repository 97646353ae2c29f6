package chaos

import "context"

// partition.isolate leaves the member running with its sockets.
var _ = register(Kind{
	Name:   "partition.isolate",
	About:  "cuts one member off from everyone: its peers, its clients and us",
	Proof:  "its packets are dropped, and a member that answered srvr does not",
	Target: Leader, Targets: membersTargets,
	needs: []need{needsNetwork},
	build: func(target string, _ settings) injector {
		return onMember(target, func(ctx context.Context, t Target, v victim) (Effect, error) {
			return cutOff(ctx, t, v, packetRule{})
		})
	},
})
