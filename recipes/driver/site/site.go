// Package site starts programs on machines: [Here] is this machine. Package scenarios/agents implements
// [Site] for the machines of agents.
package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
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

type pipes struct{ stdin, stdout, stderr *os.File }

func openPipes() (ours pipes, theirs [3]*os.File, err error) {
	for i, our := range []**os.File{&ours.stdin, &ours.stdout, &ours.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			ours.close()
			closeAll(theirs[:])
			return ours, theirs, err
		}
		*our, theirs[i] = r, w
		if i == 0 {
			*our, theirs[i] = w, r
		}
	}
	return ours, theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

func (p pipes) close() { closeAll([]*os.File{p.stdin, p.stdout, p.stderr}) }

func (p pipes) Stdin() Stdin   { return p.stdin }
func (p pipes) Stdout() Output { return p.stdout }
func (p pipes) Stderr() Output { return p.stderr }

// Lost returns false: a process with pipes runs on this machine.
func (p pipes) Lost() bool { return false }

// Here is this machine.
type Here struct {
	Hosts string // file that programs read in place of /etc/hosts (Linux, as root); "" for that file itself
}

func (Here) Name() string { return "" }

func (s Here) Start(p Program) (Process, error) {
	ours, theirs, err := openPipes()
	if err != nil {
		return nil, err
	}
	h := &here{pipes: ours, exited: make(chan struct{})}
	defer closeAll(theirs[:]) // the process has copies
	h.cmd = exec.Command(p.Args[0], p.Args[1:]...)
	h.cmd.Dir, h.cmd.Env = p.Dir, append(append(os.Environ(), p.Env...), p.Mark)
	h.cmd.Stdin, h.cmd.Stdout, h.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	detach(h.cmd)
	if err := h.run(s.Hosts); err != nil {
		h.pipes.close()
		return nil, err
	}
	return h, nil
}

type here struct {
	pipes
	cmd    *exec.Cmd
	exited chan struct{}
}

func (h *here) run(hosts string) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		var err error
		if hosts == "" {
			defer runtime.UnlockOSThread()
		} else {
			err = mountHosts(hosts) // the thread is not unlocked: nothing else may run with these mounts
		}
		if err == nil {
			err = h.cmd.Start()
		}
		started <- err
		if err != nil {
			return
		}
		_ = h.cmd.Wait()
		killAll(h.cmd)
		close(h.exited)
	}()
	return <-started
}

func (h *here) PID() int                { return h.cmd.Process.Pid }
func (h *here) Pause() error            { return pauseAll(h.cmd) }
func (h *here) Resume() error           { return resumeAll(h.cmd) }
func (h *here) Kill()                   { killAll(h.cmd) }
func (h *here) Exited() <-chan struct{} { return h.exited }

func (h *here) State() (text string, code int) {
	return h.cmd.ProcessState.String(), h.cmd.ProcessState.ExitCode()
}

// Inside is a function that this process runs in place of a program. It reads the program's stdin from
// in, writes its stdout to out, and returns when in ends.
type Inside func(ctx context.Context, in io.Reader, out io.Writer) error

// Start runs the function in a goroutine. Its error is written to the process's Stderr.
func (serve Inside) Start() (Process, error) {
	ours, theirs, err := openPipes()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &inside{pipes: ours, functionEnds: theirs[:2], cancel: cancel, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		defer closeAll(theirs[:])
		if p.err = serve(ctx, theirs[0], theirs[1]); p.err != nil {
			fmt.Fprintln(theirs[2], p.err)
		}
	}()
	return p, nil
}

type inside struct {
	pipes
	functionEnds []*os.File // the function's ends of the pipes
	cancel       context.CancelFunc
	exited       chan struct{}
	err          error // the function's result, once exited is closed
}

var errCannotPause = errors.New("the client runs in the process of an agent, which cannot be paused")

func (p *inside) PID() int                { return os.Getpid() }
func (p *inside) Pause() error            { return errCannotPause }
func (p *inside) Resume() error           { return errCannotPause }
func (p *inside) Exited() <-chan struct{} { return p.exited }

// Kill cancels the function's context and closes its ends of the pipes.
func (p *inside) Kill() {
	p.cancel()
	closeAll(p.functionEnds)
}

func (p *inside) State() (text string, code int) {
	if p.err != nil {
		return p.err.Error(), 1
	}
	return "it returned without an error", 0
}
