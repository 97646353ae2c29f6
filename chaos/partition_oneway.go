package chaos

var _ = register(Kind{
	Name:   "partition.oneway",
	About:  "drops one direction of the traffic between a member and its peers; clients reach it",
	Proof:  "its peers' packets, or its own, are dropped",
	Target: Leader, Targets: membersTargets,
	Params: []Param{{"direction", "in", "in: it does not hear its peers; out: they do not hear it"}},
	needs:  []need{needsOneWay, {about: "2 members or more"}},
	build: func(target string, s settings) injector {
		return cutsFromPeers(target, packetRule{Direction: direction(s.choice("direction", string(inOnly), string(outOnly)))})
	},
})
