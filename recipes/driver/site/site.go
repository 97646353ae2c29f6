// Package site starts programs on machines: [Here] is this machine. Package scenarios/agents implements
// [Site] for the machines of agents.
package site

import (
	"io"
	"time"
)

// Program is a program to start.
type Program struct {
	Args []string // the program and its arguments
	Env  []string // KEY=value, in addition to the environment on the machine
	Dir  string   // working directory; "" is that of the process that starts it
	Mark string   // KEY=value in its environment, by which a sweep finds the process
}

// Self represents zkbench itself, as the first argument of a program on another machine.
const Self = "{zkbench}"

// Agent represents an agent's own process, as the first argument of a program: no program is
// started, and the agent serves the subject in the second argument [Inside] itself.
const Agent = "{agent}"

// Site is a machine on which programs are started.
type Site interface {
	Name() string // of the machine; "" is this one
	// Start starts a program. The program and its children form one process group.
	Start(p Program) (Process, error)
}

// Process is a started program and its process group.
type Process interface {
	PID() int
	Stdin() Stdin
	Stdout() Output
	Stderr() Output
	// Pause, Resume and Kill send SIGSTOP, SIGCONT and SIGKILL to the group. They do not wait for the effect.
	Pause() error
	Resume() error
	Kill()
	// Exited is closed when the program has exited, or its machine is lost.
	Exited() <-chan struct{}
	// State returns a description of the exit, and the exit code. Lost reports whether the machine is
	// lost. Both are valid once Exited is closed.
	State() (text string, code int)
	Lost() bool
}

// Stdin is the writing end of the pipe from which a program reads.
type Stdin interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
}

// Output is the reading end of a pipe to which a program writes. After the program has exited, processes
// outside its group may keep the pipe open.
type Output interface {
	io.ReadCloser
	SetReadDeadline(time.Time) error
}
