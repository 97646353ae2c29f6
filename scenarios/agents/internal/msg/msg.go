// Package msg defines the messages between a coordinator and an agent. The coordinator makes calls with net/rpc and
// gob, which needs exported names. Times are in ns on the agent's clock; 0 means never.
package msg

import (
	"errors"

	"github.com/zkbench/zkbench/chaos/wire"
)

// Hello is the agent's first message.
type Hello struct {
	Version string
	Name    string // of its machine
	Index   int    // its index, if it was started with one; otherwise -1
}

// Welcome is the coordinator's reply to Hello.
type Welcome struct {
	Refused string // why the agent was refused, or ""
}

// Opening is the first message on every other stream.
type Opening struct {
	Kind  string // purpose of the stream
	Trial string
	ID    int    // of the program
	Addr  string // of the server
}

// The kinds of stream. StreamServer is opened by the agent, the others by the coordinator.
const (
	StreamCalls  = "calls"
	StreamEvents = "events" // of a trial's sessions
	StreamStdin  = "stdin"
	StreamStdout = "stdout"
	StreamStderr = "stderr"
	StreamServer = "server" // through the coordinator
)

// TrialArgs begins a trial on an agent.
type TrialArgs struct {
	Trial  string
	Parent string // the contested node
	Digest string // of the ensemble; "" for none
	Relay  bool   // the agent reaches the servers through the coordinator
}

// ClientArgs names a client of a trial.
type ClientArgs struct {
	Trial  string
	Client int
}

// ClientState is the tap's state of a client.
type ClientState struct {
	Session    wire.Session
	Known      wire.Known
	Counts     wire.Counts
	Unanswered int64
	Moments    wire.Moments
	Node       wire.Node // the newest below the contested node
	HasNode    bool
	Events     int64 // events of the trial on this agent so far
}

// ListenArgs opens a listener on the agent, through which a client connects to Server (host:port).
type ListenArgs struct {
	ClientArgs
	Server string
}

// GateArgs opens or closes a client's gate. While the gate is closed, every dial of the client fails.
type GateArgs struct {
	ClientArgs
	Closed bool
}

// ArmArgs arms a rule. The agent replies with the rule's number.
type ArmArgs struct {
	ClientArgs
	Rule wire.Rule
}

// RuleArgs names an armed rule of a trial by the agent's number.
type RuleArgs struct {
	Trial  string
	Number int
}

// RuleProof is the proof that a rule took effect. Fired is false if the rule was disarmed before. Err is the
// text of the proof's error; Proof.Err is nil.
type RuleProof struct {
	Fired bool
	Proof wire.Proof
	Err   string
}

// WireEvent is an event of a tap. Why is the text of the event's error; Event.Err is nil.
type WireEvent struct {
	wire.Event
	Why string
}

// StartArgs starts a program on the agent. Env is added to the agent's environment.
type StartArgs struct {
	Args, Env []string
	Dir       string
	MarkKey   string // variable of the mark; its value identifies the agent's process
}

// StartReply is the program's number on the agent, and its process ID.
type StartReply struct {
	ID, PID int
}

// SignalArgs signals a program and its group.
type SignalArgs struct {
	ID   int
	What string
}

const (
	Pause  = "pause"
	Resume = "resume"
	Kill   = "kill"
)

// GroupReply contains the IDs of all processes in a program's process group, and of those whose threads are
// all stopped.
type GroupReply struct{ All, Stopped []int }

// ExitReply is a description of a program's exit, and its exit code.
type ExitReply struct {
	Text string
	Code int
}

// Nothing is the argument of a call without arguments, and the reply of a call without a result.
type Nothing struct{}

// ErrorText returns the text of an error, or "" for nil.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// ErrorOf returns an error with that text, or nil for "".
func ErrorOf(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}
