// Package agents runs clients of a trial on other machines: the tap on their connections is in the
// agent's process, and the clients are in that process or in drivers.
//
// A [Fleet] is the coordinator's side, used by the runner: agents dial it, one connection each.
// [Serve] is the agent's side. Agents make no decisions: they start processes, forward their
// output, and tap their connections to the servers, where the coordinator injects faults. Their
// times are of their own clock, which the coordinator maps to its own with a known error (package
// clock).
//
// # Files
//
// join.go has the credentials of an agent, and the certificates of a run. link.go is the
// connection, internal/msg its messages. fleet.go, peer.go and trial.go are the coordinator's side;
// tap.go and process.go present it to a trial. serve.go, serve_tap.go, serve_process.go and
// serve_inside.go are the agent's side. engine.go and engine_*.go start agents: as local processes,
// over ssh, in Kubernetes.
package agents
