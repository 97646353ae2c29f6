package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

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
