package external

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/group"
	"github.com/zkbench/zkbench/ensembles/internal/logtail"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/report/units"
)

const (
	commandLimit = time.Minute      // for one command
	changeLimit  = 30 * time.Second // for a member to start or stop after the command
	connectLimit = 2 * time.Second  // for a member to accept a connection
	poll         = 50 * time.Millisecond
)

// commandMachine controls a member by its owner's commands. It verifies starts and stops by connecting.
type commandMachine struct {
	member   *ensembles.Member
	commands ensembles.Commands

	mu       sync.Mutex // one command at a time
	down     bool
	isolated bool
	executed bytes.Buffer // a line for each command
}

var executed atomic.Bool

// Executed reports whether this process has executed a command for a member. Processes that such a
// command has started, for example a server, must keep running.
func Executed() bool { return executed.Load() }

func (m *commandMachine) run(ctx context.Context, word string, args []string, out io.Writer) error {
	if args == nil {
		return fmt.Errorf("%w: %s has no command to %s it", ensembles.ErrNotOurs, m.member.Name, word)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, commandLimit, fmt.Errorf("timed out after %v", commandLimit))
	defer cancel()
	executed.Store(true)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if out != nil {
		cmd.Stdout = out
	}
	cmd.WaitDelay = time.Second        // for children that keep the output open
	group.Detach(cmd, syscall.SIGKILL) // a leftover child process could stop the member again after the fault was healed
	begin := time.Now()
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the command succeeded and left a process running
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	outcome := "ok"
	if err != nil {
		outcome = err.Error()
	}
	fmt.Fprintf(&m.executed, "%s %s: %s: %s, after %v\n%s", begin.Format("2006-01-02 15:04:05.000"), word, Line(args), outcome,
		time.Since(begin).Round(time.Millisecond), output.Bytes())
	if err != nil {
		return fmt.Errorf("%s %s: %s: %w%s", word, m.member.Name, Line(args), err, logtail.Lines(output.Bytes()))
	}
	return nil
}

// Line returns a program and its arguments as text.
func Line(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		if words[i] = a; a == "" || strings.ContainsAny(a, " \t\n'\"$\\|&;<>*?") {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// accepts reports whether the client port accepts connections; known is false if this cannot be determined.
func (m *commandMachine) accepts(ctx context.Context) (accepts, known bool) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.member.Addr)
	if err == nil {
		conn.Close()
	}
	return err == nil, err == nil || errors.Is(err, syscall.ECONNREFUSED)
}

func (m *commandMachine) await(ctx context.Context, wantUp bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, changeLimit, fmt.Errorf("timed out after %v", changeLimit))
	defer cancel()
	err := wait.Until(ctx, poll, func() bool { up, _ := m.accepts(ctx); return up == wantUp && ctx.Err() == nil })
	switch {
	case err == nil:
		return nil
	case wantUp:
		return fmt.Errorf("%s was started but does not accept connections at %s: %w", m.member.Name, m.member.Addr, err)
	}
	return fmt.Errorf("%s was stopped but still accepts connections at %s: %w", m.member.Name, m.member.Addr, err)
}

func (m *commandMachine) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.run(ctx, "start", m.commands.Start, nil)
	if err == nil {
		err = m.await(ctx, true)
	}
	m.down = m.down && err != nil
	return err
}

func (m *commandMachine) Stop(ctx context.Context) error { return m.end(ctx, "stop", m.commands.Stop) }

// Kill runs the kill command or, without one, the stop command, and returns when the member has ended.
func (m *commandMachine) Kill(ctx context.Context) error {
	if m.commands.Kill == nil {
		return m.end(ctx, "stop", m.commands.Stop)
	}
	return m.end(ctx, "kill", m.commands.Kill)
}

func (m *commandMachine) end(ctx context.Context, word string, args []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if args != nil {
		m.down = true // or possibly not, if the command fails
	}
	if err := m.run(ctx, word, args, nil); err != nil {
		return err
	}
	return m.await(ctx, false)
}

func (m *commandMachine) Pause(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.run(ctx, "pause", m.commands.Pause, nil)
}

func (m *commandMachine) Resume(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.run(ctx, "resume", m.commands.Resume, nil)
}

// Running reports whether the member accepts connections; a frozen member does. If that is unknown, it
// returns true, unless a command of this process has stopped the member.
func (m *commandMachine) Running(ctx context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	accepts, known := m.accepts(ctx)
	return accepts || !known && !m.down, ctx.Err()
}

// Save writes the executed commands only: the member's configuration and log belong to its owner.
func (m *commandMachine) Save(_ context.Context, dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.executed.Len() == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, m.member.Name+".commands"), m.executed.Bytes(), 0o644)
}

func (m *commandMachine) RecentLog(context.Context) ([]byte, error) { return nil, ensembles.ErrNotOurs }

func (m *commandMachine) Logged() bool { return m.commands.Log != nil }

// TxnLogs reads the transaction logs from the command's output, a tar archive of the folder version-2.
func (m *commandMachine) TxnLogs(ctx context.Context, after int64) ([]io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := m.run(ctx, "log", m.commands.Log, w)
		w.CloseWithError(err) // nil is the end of the output
		done <- err
	}()
	logs, err := txnlog.Untar(r, after)
	_, _ = io.Copy(io.Discard, r) // so that the command can end
	if runErr := <-done; runErr != nil {
		return nil, runErr
	}
	if err != nil {
		return nil, fmt.Errorf("log %s: the output of %s is not a tar archive: %w", m.member.Name, Line(m.commands.Log), err)
	}
	return logs, nil
}

func (m *commandMachine) Isolate(ctx context.Context, c ensembles.Cut) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isolated {
		return fmt.Errorf("%s is already isolated, and its commands cannot heal two cuts separately", m.member.Name)
	}
	args, err := m.fill(c)
	if err != nil {
		return err
	}
	m.isolated = m.commands.Isolate != nil
	return m.run(ctx, "isolate", args, nil)
}

// Heal implements ensembles.Cutter. It does nothing if the member is not isolated.
func (m *commandMachine) Heal(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isolated {
		return nil
	}
	err := m.run(ctx, "heal", m.commands.Heal, nil)
	m.isolated = err != nil
	return err
}

func (m *commandMachine) fill(c ensembles.Cut) ([]string, error) {
	values := map[string]string{"{direction}": c.Direction, "{peers}": list(c.Peers, "all"), "{except}": list(c.Except, "none")}
	needed := map[string]bool{"{direction}": c.Direction != "both", "{peers}": len(c.Peers) > 0, "{except}": len(c.Except) > 0}
	args := make([]string, len(m.commands.Isolate))
	for i, a := range m.commands.Isolate {
		for name, value := range values {
			if strings.Contains(a, name) {
				a, needed[name] = strings.ReplaceAll(a, name, value), false
			}
		}
		args[i] = a
	}
	for name, missing := range needed {
		if missing {
			return nil, fmt.Errorf("the isolate command of %s is %s: without %s, it cannot make this cut (%s)", m.member.Name, Line(m.commands.Isolate), name, values[name])
		}
	}
	return args, nil
}

func list(all []netip.Addr, none string) string {
	return cmp.Or(strings.Join(units.Names(all, netip.Addr.String), ","), none)
}
