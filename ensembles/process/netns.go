//go:build linux

package process

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/vishvananda/netns"

	"github.com/zkbench/zkbench/ensembles/state"
)

type launcher struct {
	jobs    chan func()
	once    sync.Once
	quit    chan struct{}
	stopped chan struct{}
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func()), quit: make(chan struct{}), stopped: make(chan struct{})}
	go l.loop()
	return l
}

// start starts cmd in the namespace at a path, or in the current one if it is empty.
func (l *launcher) start(cmd *exec.Cmd, netNS string) error {
	done := make(chan error, 1)
	select {
	case l.jobs <- func() { done <- inNetNS(netNS, cmd.Start) }:
		return <-done
	case <-l.quit:
		return fmt.Errorf("starting %s: the ensemble is down", cmd.Path)
	}
}

// stop ends the thread, and with it every process that was started with a Pdeathsig. It may be
// called twice.
func (l *launcher) stop() {
	l.once.Do(func() { close(l.quit) })
	<-l.stopped
}

func (l *launcher) loop() {
	defer close(l.stopped)
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	for {
		select {
		case job := <-l.jobs:
			job()
		case <-l.quit:
			return
		}
	}
}

// inNetNS calls do on a thread in the namespace at path, or in the current one if it is empty, and returns the
// thread to its own namespace.
func inNetNS(path string, do func() error) error {
	if path == "" {
		return do()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		return fmt.Errorf("finding our network namespace: %w", err)
	}
	defer home.Close()
	there, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("opening network namespace %s: %w", path, err)
	}
	defer there.Close()
	if err := netns.Set(there); err != nil {
		return fmt.Errorf("entering network namespace %s: %w", path, err)
	}
	err = do()
	if back := netns.Set(home); back != nil {
		// Otherwise later code on this thread would run in the wrong network.
		panic(fmt.Sprintf("leaving network namespace %s: %v", path, back))
	}
	return err
}

// probe checks that this host and every member reach every member.
func probe(ctx context.Context, r *state.Record) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for _, m := range r.Members {
		to := m.Addr() // not open on any member yet
		listener, err := listenIn(m.NetNS, to)
		if err != nil {
			return fmt.Errorf("probing the network of %s: %w", m.Name, err)
		}
		defer listener.Close()
		if err := dialIn(ctx, "", to); err != nil {
			return fmt.Errorf("this host does not reach %s (does a firewall drop it?): %w", m.Name, err)
		}
		for _, from := range r.Members {
			if err := dialIn(ctx, from.NetNS, to); err != nil {
				return fmt.Errorf("%s does not reach %s: %w", from.Name, m.Name, err)
			}
		}
	}
	return nil
}

func listenIn(path, address string) (l net.Listener, err error) {
	err = inNetNS(path, func() error {
		l, err = net.Listen("tcp4", address)
		return err
	})
	return l, err
}

func dialIn(ctx context.Context, path, address string) error {
	return inNetNS(path, func() error {
		// One address and no name: the socket is created on this thread, in its namespace.
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
}
