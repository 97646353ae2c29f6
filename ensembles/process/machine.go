//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensembles/internal/logtail"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
	"github.com/zkbench/zkbench/ensembles/state"
)

// poll is the interval of checks of a process.
const poll = 5 * time.Millisecond

type machine struct {
	record   *state.Record
	member   state.Member
	launcher *launcher

	mu      sync.Mutex
	command []string // java and its arguments, without the arguments of single members
	process state.Process
	reaped  chan struct{} // closed when our child was waited for; nil if it is another process's child
}

// mark returns the argument by which the JVMs of an ensemble are found.
func mark(id string) string { return MarkPrefix + id }

// memberMark returns the argument by which the JVM of one member is found.
func memberMark(id, name string) string { return "-Dzkbench.member=" + id + "/" + name }

func (m *machine) act(doing string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := do(); err != nil {
		return fmt.Errorf("%s %s: %w", doing, m.member.Name, err)
	}
	return nil
}

// Start runs the member and returns when it listens for clients.
func (m *machine) Start(ctx context.Context) error {
	return m.act("starting", func() error {
		if m.process.Alive() {
			return fmt.Errorf("it runs already (process %d)", m.process.PID)
		}
		if err := m.portsFree(); err != nil {
			return err
		}
		if err := m.launch(); err != nil {
			return err
		}
		if err := m.await(ctx, func() bool { return listens(m.process.PID, m.member.Ports[0]) }); err != nil {
			return fmt.Errorf("it does not listen on %s: %w%s", m.member.Addr(), err, m.lastLines())
		}
		if !m.process.Alive() {
			return fmt.Errorf("it ended at once%s", m.lastLines())
		}
		return nil
	})
}

// await waits until done returns true or the process has ended.
func (m *machine) await(ctx context.Context, done func() bool) error {
	return wait.Until(ctx, poll, func() bool { return done() || !m.process.Alive() })
}

// launch forks the JVM.
func (m *machine) launch() error {
	dir := memberDir(m.record, m.member)
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the JVM has its own by then
	cmd := exec.Command(m.command[0], m.command[1:]...)
	cmd.Args = append(cmd.Args, mark(m.record.ID), memberMark(m.record.ID, m.member.Name),
		"-Djava.io.tmpdir="+dir, "-XX:ErrorFile="+filepath.Join(dir, "crash.log"),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, cfgFile))
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	// Its own session: Ctrl-C is for zkbench, which stops its processes in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !m.record.Keep {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	if err := m.launcher.start(cmd, m.member.NetNS); err != nil {
		return err
	}
	m.process, err = state.Find(cmd.Process.Pid) // our child cannot vanish before Wait
	reaped := make(chan struct{})
	m.reaped = reaped
	go func() {
		defer close(reaped)
		_ = cmd.Wait() // its log shows how it ended; callers wait for the end
	}()
	return err
}

// Stop stops the member with SIGTERM and waits for its end. A paused member is resumed first, since
// a stopped process does not handle SIGTERM.
func (m *machine) Stop(ctx context.Context) error {
	return m.end(ctx, "stopping", syscall.SIGTERM, syscall.SIGCONT)
}

func (m *machine) Kill(ctx context.Context) error { return m.end(ctx, "killing", syscall.SIGKILL) }

func (m *machine) end(ctx context.Context, doing string, signals ...os.Signal) error {
	return m.act(doing, func() error {
		for _, s := range signals {
			if err := m.process.Signal(s); err != nil {
				return err
			}
		}
		return m.awaitEnd(ctx)
	})
}

// Pause freezes the member and returns when all its threads are stopped.
func (m *machine) Pause(ctx context.Context) error {
	return m.freeze(ctx, "pausing", syscall.SIGSTOP, true)
}

// Resume continues a paused member.
func (m *machine) Resume(ctx context.Context) error {
	return m.freeze(ctx, "resuming", syscall.SIGCONT, false)
}

func (m *machine) freeze(ctx context.Context, doing string, s os.Signal, stopped bool) error {
	return m.act(doing, func() error {
		if !m.process.Alive() {
			return errors.New("it does not run")
		}
		if err := m.process.Signal(s); err != nil {
			return err
		}
		if err := m.await(ctx, func() bool { return m.process.Stopped() == stopped }); err != nil {
			return err
		}
		if !m.process.Alive() {
			return fmt.Errorf("it ended meanwhile%s", m.lastLines())
		}
		return nil
	})
}

// Running reports whether the process lives, paused or not.
func (m *machine) Running(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process.Alive(), nil
}

// awaitEnd waits until the process has ended.
func (m *machine) awaitEnd(ctx context.Context) (err error) {
	if m.reaped != nil {
		select {
		case <-m.reaped:
		case <-ctx.Done():
			err = ctx.Err()
		}
	} else {
		err = m.await(ctx, func() bool { return false })
	}
	if err != nil {
		return fmt.Errorf("process %d still runs: %w", m.process.PID, err)
	}
	return nil
}

// portsFree reports ports in use early and clearly; the JVM would only log it. In a namespace of
// its own a member has all ports.
func (m *machine) portsFree() error {
	if m.member.NetNS != "" {
		return nil
	}
	for _, port := range m.member.Ports {
		l, err := net.Listen("tcp", net.JoinHostPort(m.member.IP, strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("port %d is taken: %w (end the process that listens there: ss -ltnp 'sport = :%d')", port, err, port)
		}
		l.Close()
	}
	return nil
}

// lastLines returns the end of the member's log, for an error.
func (m *machine) lastLines() string {
	log, err := os.ReadFile(filepath.Join(memberDir(m.record, m.member), logFile))
	if err != nil {
		return fmt.Sprintf("\n    | (its log is not available: %v)", err)
	}
	return logtail.Lines(log)
}
