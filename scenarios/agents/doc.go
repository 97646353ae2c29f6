// Package agents has clients of a trial live on other machines: with the tap on their
// connections, in the agent's own process or as processes of drivers.
//
// A [Fleet] is the coordinator's end, which the runner uses: agents dial it, each over one
// connection. [Serve] is an agent's end. Nothing is decided by an agent: it starts processes,
// passes on what they say, and has the tap on their connections to the servers, to which the
// coordinator's faults come. What it measures is in its own clock's time, which the
// coordinator maps to its own, with the error that this may have (package clock).
//
// # How to read it
//
// join.go is what an agent needs to know, and the certificates made for one run. link.go is
// the connection, internal/msg what goes over it. fleet.go, peer.go and trial.go are the
// coordinator's end, tap.go and process.go what it shows to a trial; serve.go, serve_tap.go,
// serve_process.go and serve_inside.go are the agent's. engine.go and the files beside it
// start agents: as processes here, over ssh, in Kubernetes.
package agents
