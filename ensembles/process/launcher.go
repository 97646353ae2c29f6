//go:build linux

package process

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"

	"github.com/vishvananda/netns"
)

// launcher starts processes from one operating system thread that lives as long
// as they may. Both things that a member needs hang on the thread that forks it:
// its network namespace, and the kernel's promise to kill it when that thread
// dies (Pdeathsig), which a passing goroutine's thread could break at any time.
type launcher struct {
	jobs    chan job
	once    sync.Once
	stopped chan struct{}
}

type job struct {
	cmd   *exec.Cmd
	netNS string // path, or empty for ours
	done  chan error
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan job), stopped: make(chan struct{})}
	go l.loop()
	return l
}

// start starts cmd in the namespace.
func (l *launcher) start(cmd *exec.Cmd, netNS string) error {
	j := job{cmd: cmd, netNS: netNS, done: make(chan error, 1)}
	select {
	case l.jobs <- j:
		return <-j.done
	case <-l.stopped:
		return fmt.Errorf("starting %s: the ensemble is down", cmd.Path)
	}
}

// stop ends the thread, and with it every process that was started with a
// Pdeathsig. It is safe to call twice.
func (l *launcher) stop() {
	l.once.Do(func() { close(l.jobs) })
	<-l.stopped
}

func (l *launcher) loop() {
	defer close(l.stopped)
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	for j := range l.jobs {
		j.done <- startIn(j.cmd, j.netNS)
	}
}

// startIn starts cmd in the namespace and leaves the thread in its own again.
func startIn(cmd *exec.Cmd, path string) error {
	if path == "" {
		return cmd.Start()
	}
	return inNetNS(path, cmd.Start)
}

// inNetNS calls do with the calling thread in the namespace at path. The caller
// has locked its goroutine to the thread.
func inNetNS(path string, do func() error) error {
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
		// Going on would run everything later on this thread in the wrong network.
		panic(fmt.Sprintf("leaving network namespace %s: %v", path, back))
	}
	return err
}
