package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Inside is this process: what it starts is a function, which reads what a program would read
// from its stdin, writes what it would print, and returns when in ends.
type Inside func(ctx context.Context, in io.Reader, out io.Writer) error

// Start starts the function. What it says of itself goes to stderr.
func (serve Inside) Start() (Process, error) {
	ours, theirs, err := openPipes()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &inside{pipes: ours, theirs: theirs[:2], cancel: cancel, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		defer closeAll(theirs[:])
		if p.err = serve(ctx, theirs[0], theirs[1]); p.err != nil {
			fmt.Fprintln(theirs[2], p.err)
		}
	}()
	return p, nil
}

// inside is a function at work.
type inside struct {
	pipes
	theirs []*os.File // what it reads and writes
	cancel context.CancelFunc
	exited chan struct{}
	err    error // how it returned, once exited is closed
}

var errInside = errors.New("it runs in the process of an agent, which cannot be stopped for it")

func (p *inside) PID() int                { return os.Getpid() }
func (p *inside) Pause() error            { return errInside }
func (p *inside) Resume() error           { return errInside }
func (p *inside) Exited() <-chan struct{} { return p.exited }

// Kill has the function return as soon as it can.
func (p *inside) Kill() {
	p.cancel()
	closeAll(p.theirs)
}

func (p *inside) State() (text string, code int) {
	if p.err != nil {
		return p.err.Error(), 1
	}
	return "it has ended", 0
}

// Lost implements Process: whoever calls that is in this process, too.
func (p *inside) Lost() bool { return false }
