package site

import (
	"os"
	"os/exec"
	"runtime"
)

// Here is this machine.
type Here struct{}

// Name implements Site.
func (Here) Name() string { return "" }

// Start implements Site.
func (Here) Start(p Program) (Process, error) {
	h := &here{exited: make(chan struct{})}
	var theirs [3]*os.File
	for i, ours := range []**os.File{&h.stdin, &h.stdout, &h.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			h.closePipes()
			closeAll(theirs[:])
			return nil, err
		}
		*ours, theirs[i] = r, w
		if i == 0 {
			*ours, theirs[i] = w, r
		}
	}
	defer closeAll(theirs[:]) // the process has its own
	h.cmd = exec.Command(p.Args[0], p.Args[1:]...)
	h.cmd.Dir, h.cmd.Env = p.Dir, append(append(os.Environ(), p.Env...), p.Mark)
	h.cmd.Stdin, h.cmd.Stdout, h.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	detach(h.cmd)
	if err := h.run(); err != nil {
		h.closePipes()
		return nil, err
	}
	return h, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // fails where it is nil
	}
}

// here is a program on this machine.
type here struct {
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File
	exited                chan struct{}
}

// run starts the program on a thread that stays until it has ended.
func (h *here) run() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := h.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = h.cmd.Wait() // how it ended is in ProcessState
		killAll(h.cmd)
		close(h.exited)
	}()
	return <-started
}

func (h *here) closePipes() { closeAll([]*os.File{h.stdin, h.stdout, h.stderr}) }

func (h *here) PID() int                { return h.cmd.Process.Pid }
func (h *here) Stdin() Stdin            { return h.stdin }
func (h *here) Stdout() Output          { return h.stdout }
func (h *here) Stderr() Output          { return h.stderr }
func (h *here) Pause() error            { return pauseAll(h.cmd) }
func (h *here) Resume() error           { return resumeAll(h.cmd) }
func (h *here) Kill()                   { killAll(h.cmd) }
func (h *here) Exited() <-chan struct{} { return h.exited }

func (h *here) State() (text string, code int) {
	return h.cmd.ProcessState.String(), h.cmd.ProcessState.ExitCode()
}

// Lost implements Process: this machine is always in sight.
func (h *here) Lost() bool { return false }
