package chaos

import "context"

// partition.clients leaves the ensemble whole: clients must connect to another member.
var _ = register(Kind{
	Name:   "partition.clients",
	About:  "cuts a member off from all clients; its peers reach it",
	Proof:  "clients' packets are dropped, and a member that answered srvr does not",
	Target: Leader, Targets: membersTargets,
	needs: []need{needsExcept},
	build: func(target string, _ settings) injector {
		return onMember(target, func(ctx context.Context, t Target, v victim) (Effect, error) {
			spared, err := ips(others(t.Ensemble, v.Member))
			if err != nil {
				return Effect{}, err
			}
			return cutOff(ctx, t, v, packetRule{Except: spared})
		})
	},
})
