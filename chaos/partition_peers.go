package chaos

// partition.peers leaves clients connected to a server without a quorum.
var _ = register(Kind{
	Name:   "partition.peers",
	About:  "cuts a member off from its peers; clients reach it",
	Proof:  "packets between it and its peers are dropped",
	Target: Leader, Targets: membersTargets,
	needs: []need{needsPeers, {about: "2 members or more"}},
	build: func(target string, _ settings) injector { return cutsFromPeers(target, packetRule{}) },
})
