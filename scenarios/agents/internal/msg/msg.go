// Package msg is what goes over the link between a coordinator and an agent. Calls are made by
// the coordinator and answered by the agent, by net/rpc in gob, which asks for exported names.
// Every instant is in ns on the agent's clock; 0 is never.
package msg

import (
	"errors"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// Hello is the agent's first word.
type Hello struct {
	Version string
	Name    string // of its machine
	Index   int    // its place among the agents, where whoever started it has numbered them; -1
}

// Welcome is the answer to it.
type Welcome struct {
	Refused string // why the agent is not wanted; "" where it is
}

// Opening is the first word on a stream that is not the first.
type Opening struct {
	Kind string // what goes over it
	Of   string // the trial
	ID   int64  // of the process
	Addr string // of the server
}

// The kinds of stream. That of servers is opened by the agent, the others by the coordinator.
const (
	StreamCalls  = "calls"
	StreamEvents = "events" // of a trial's sessions
	StreamStdin  = "stdin"
	StreamStdout = "stdout"
	StreamStderr = "stderr"
	StreamServer = "server" // through the coordinator
)

// TrialArgs begins a trial at an agent.
type TrialArgs struct {
	Trial  string
	Parent string // the contested node
	Digest string // of the ensemble; "" where it has none
	Relay  bool   // the agent reaches the servers through the coordinator
}

// ClientArgs names a client of a trial.
type ClientArgs struct {
	Trial  string
	Client int
}

// ClientState is what the tap shows of a client.
type ClientState struct {
	Session    wire.Session
	Known      wire.Known
	Counts     wire.Counts
	Unanswered int64
	Notified   time.Duration
	Node       wire.Node // the newest below the contested node
	HasNode    bool
	Events     int64 // how many events the trial has had here until then
}

// ListenArgs asks for a listener that stands for a server.
type ListenArgs struct {
	ClientArgs
	Server string
}

// HoldArgs keeps every byte of a client back.
type HoldArgs struct {
	ClientArgs
	Mode wire.HoldMode
}

// GateArgs opens or closes a client's way.
type GateArgs struct {
	ClientArgs
	Closed bool
}

// ArmArgs puts a rule in force. The coordinator numbers them.
type ArmArgs struct {
	ClientArgs
	Shot int64
	Rule wire.Rule
}

// ShotArgs names a rule in force.
type ShotArgs struct {
	Trial string
	Shot  int64
}

// ShotProof is what became of a rule.
type ShotProof struct {
	Fired bool
	Proof wire.Proof // without its error
	Err   string
}

// WireEvent is an event of a session.
type WireEvent struct {
	wire.Event // without its error
	Why        string
}

// StartArgs starts a program.
type StartArgs struct {
	Args, Env []string
	Dir       string
	MarkKey   string // of its mark; the value is the agent's own process
}

// StartReply is the program's number at the agent, and its id on the machine.
type StartReply struct {
	ID  int64
	PID int
}

// SignalArgs does something to a program and its group.
type SignalArgs struct {
	ID   int64
	What string
}

// What can be done to a program.
const (
	Pause  = "pause"
	Resume = "resume"
	Kill   = "kill"
)

// GroupReply is what is there of a program's group.
type GroupReply struct{ All, Stopped []int }

// ExitReply says how a program has exited.
type ExitReply struct {
	Text string
	Code int
}

// Nothing is no argument and no answer.
type Nothing struct{}

// Words is an error as it goes over a link.
func Words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FromWords is an error of its words.
func FromWords(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}
