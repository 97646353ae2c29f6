package site

import (
	"os"
	"os/exec"
	"runtime"
)

// Here is this machine.
type Here struct{}

func (Here) Name() string { return "" }

func (Here) Start(p Program) (Process, error) {
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
	if err := h.run(); err != nil {
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
