// Package site starts programs on a machine: [Here] on this one. The machine of an agent is
// a [Site], too (package scenarios/agents).
package site

import (
	"io"
	"time"
)

// Program is what is to be started.
type Program struct {
	Args []string // the program and its arguments
	Env  []string // KEY=value, beside those of the machine's own
	Dir  string   // to start it in; "" is where the starter is
	Mark string   // KEY=value, that it carries for ever, so that a sweep finds it
}

// Self stands for zkbench itself, as the first of the arguments of a program that another
// machine starts.
const Self = "{zkbench}"

// Agent stands for an agent's own process, as the first of the arguments of a program: no
// program is started, and the agent serves the subject that the second names [Inside] itself.
const Agent = "{agent}"

// Site is a machine that programs are started on.
type Site interface {
	Name() string // of the machine; "" is this one
	// Start starts a program. It and all that it starts are one group.
	Start(p Program) (Process, error)
}

// Process is a program that was started, and its group.
type Process interface {
	PID() int
	Stdin() Stdin
	Stdout() Output
	Stderr() Output
	// Pause stops the group (SIGSTOP), Resume lets it go on (SIGCONT), Kill ends it
	// (SIGKILL); none waits until it has happened.
	Pause() error
	Resume() error
	Kill()
	// Exited is closed when the program has exited, or is out of our sight for good.
	Exited() <-chan struct{}
	// State says how it exited, and with which code; Lost that its machine is out of our
	// sight. Both hold once Exited is closed.
	State() (text string, code int)
	Lost() bool
}

// Stdin is the end of a pipe that a program reads.
type Stdin interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
}

// Output is the end of a pipe that a program prints to. Where the program has exited, somebody
// who has left its group may still keep the pipe open.
type Output interface {
	io.ReadCloser
	SetReadDeadline(time.Time) error
}
