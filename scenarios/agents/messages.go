package agents

import (
	"errors"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// What goes over a link. Calls are made by the coordinator and answered by the agent, by
// net/rpc in gob. Every instant in them is in ns on the agent's clock; 0 is never.

// hello is the agent's first word.
type hello struct {
	Version string
	Name    string // of its machine
	Index   int    // its place among the agents, where whoever started it has numbered them; -1
}

// welcome is the answer to it.
type welcome struct {
	Refused string // why the agent is not wanted; "" where it is
}

// opening is the first word on a stream that is not the first.
type opening struct {
	Kind string // what goes over it
	Of   string // the trial
	ID   int64  // of the process
	Addr string // of the server
}

// The kinds of stream. That of servers is opened by the agent, the others by the coordinator.
const (
	streamCalls  = "calls"
	streamEvents = "events" // of a trial's sessions
	streamStdin  = "stdin"
	streamStdout = "stdout"
	streamStderr = "stderr"
	streamServer = "server" // through the coordinator
)

// trialArgs begins a trial at an agent.
type trialArgs struct {
	Trial  string
	Parent string // the contested node
	Digest string // of the ensemble; "" where it has none
	Relay  bool   // the agent reaches the servers through the coordinator
}

// clientArgs names a client of a trial.
type clientArgs struct {
	Trial  string
	Client int
}

// clientState is what the tap shows of a client.
type clientState struct {
	Session    wire.Session
	Known      wire.Known
	Counts     wire.Counts
	Unanswered int64
	Notified   time.Duration
	Node       wire.Node // the newest below the contested node
	HasNode    bool
	Events     int64 // how many events the trial has had here until then
}

// listenArgs asks for a listener that stands for a server.
type listenArgs struct {
	clientArgs
	Server string
}

// holdArgs keeps every byte of a client back.
type holdArgs struct {
	clientArgs
	Mode wire.HoldMode
}

// gateArgs opens or closes a client's way.
type gateArgs struct {
	clientArgs
	Closed bool
}

// armArgs puts a rule in force. The coordinator numbers them.
type armArgs struct {
	clientArgs
	Shot int64
	Rule wire.Rule
}

// shotArgs names a rule in force.
type shotArgs struct {
	Trial string
	Shot  int64
}

// shotProof is what became of a rule.
type shotProof struct {
	Fired bool
	Proof wire.Proof // without its error
	Err   string
}

// wireEvent is an event of a session.
type wireEvent struct {
	wire.Event // without its error
	Why        string
}

// startArgs starts a program.
type startArgs struct {
	Args, Env []string
	Dir       string
	MarkKey   string // of its mark; the value is the agent's own process
}

// startReply is the program's number at the agent, and its id on the machine.
type startReply struct {
	ID  int64
	PID int
}

// signalArgs does something to a program and its group.
type signalArgs struct {
	ID   int64
	What string
}

// What can be done to a program.
const (
	signalPause  = "pause"
	signalResume = "resume"
	signalKill   = "kill"
)

// groupReply is what is there of a program's group.
type groupReply struct{ All, Stopped []int }

// exitReply says how a program has exited.
type exitReply struct {
	Text string
	Code int
}

// nothing is no argument and no answer.
type nothing struct{}

// words is an error as it goes over a link.
func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func fromWords(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}
