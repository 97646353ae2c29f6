package external

import (
	"bytes"
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
	"github.com/zkbench/zkbench/ensembles/internal/logtail"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
	"github.com/zkbench/zkbench/ensembles/txnlog"
)

const (
	commandLimit = time.Minute      // for one command
	changeLimit  = 30 * time.Second // for a member to be there, or to be gone, after it
	connectLimit = 2 * time.Second  // for a member to take a connection
	poll         = 50 * time.Millisecond
)

// commanded is power over a member by its owner's commands. What became of it is seen from
// here: whether the member takes connections.
type commanded struct {
	member   *ensembles.Member
	commands ensembles.Commands

	mu       sync.Mutex // one command at a time
	down     bool       // a command of ours has ended it
	isolated bool
	executed bytes.Buffer // a line for each command
}

var executed atomic.Bool

// Executed reports whether this process has executed a command for a member: what that has started,
// such as a server, stays.
func Executed() bool { return executed.Load() }

// run executes one command, and writes down what came of it.
func (m *commanded) run(ctx context.Context, word string, args []string, out io.Writer) error {
	if args == nil {
		return fmt.Errorf("%w: %s names no command to %s it", ensembles.ErrNotOurs, m.member.Name, word)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, commandLimit, fmt.Errorf("not within %v", commandLimit))
	defer cancel()
	executed.Store(true)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if out != nil {
		cmd.Stdout = out
	}
	cmd.WaitDelay = time.Second // for children that keep the output open
	detach(cmd)
	begin := time.Now()
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well, and left something running
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	came := "ok"
	if err != nil {
		came = err.Error()
	}
	fmt.Fprintf(&m.executed, "%s %s: %s: %s, after %v\n%s", begin.Format("2006-01-02 15:04:05.000"), word, Line(args), came,
		time.Since(begin).Round(time.Millisecond), said.Bytes())
	if err != nil {
		return fmt.Errorf("%s %s: %s: %w%s", word, m.member.Name, Line(args), err, logtail.Lines(said.Bytes()))
	}
	return nil
}

// Line writes a program and its arguments as one reads them.
func Line(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		if words[i] = a; a == "" || strings.ContainsAny(a, " \t\n'\"$\\|&;<>*?") {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// accepts reports whether the member's client port takes connections; known is false where
// nobody can tell.
func (m *commanded) accepts(ctx context.Context) (accepts, known bool) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.member.Addr)
	if err == nil {
		conn.Close()
	}
	return err == nil, err == nil || errors.Is(err, syscall.ECONNREFUSED)
}

// await returns when the member takes connections, or takes none any more.
func (m *commanded) await(ctx context.Context, there bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, changeLimit, fmt.Errorf("not within %v", changeLimit))
	defer cancel()
	err := wait.Until(ctx, poll, func() bool { up, _ := m.accepts(ctx); return up == there && ctx.Err() == nil })
	switch {
	case err == nil:
		return nil
	case there:
		return fmt.Errorf("%s was started and takes no connection at %s: %w", m.member.Name, m.member.Addr, err)
	}
	return fmt.Errorf("%s was stopped and still takes connections at %s: %w", m.member.Name, m.member.Addr, err)
}

// Start starts the member and returns when it takes connections.
func (m *commanded) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.run(ctx, "start", m.commands.Start, nil)
	if err == nil {
		err = m.await(ctx, true)
	}
	m.down = m.down && err != nil
	return err
}

// Stop stops the member and returns when it takes no connections.
func (m *commanded) Stop(ctx context.Context) error { return m.end(ctx, "stop", m.commands.Stop) }

// Kill is Stop, by the command to kill the member where there is one.
func (m *commanded) Kill(ctx context.Context) error {
	if m.commands.Kill == nil {
		return m.end(ctx, "stop", m.commands.Stop)
	}
	return m.end(ctx, "kill", m.commands.Kill)
}

func (m *commanded) end(ctx context.Context, word string, args []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if args != nil {
		m.down = true // or perhaps; who asks looks
	}
	if err := m.run(ctx, word, args, nil); err != nil {
		return err
	}
	return m.await(ctx, false)
}

// Pause freezes the member.
func (m *commanded) Pause(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.run(ctx, "pause", m.commands.Pause, nil)
}

// Resume thaws the member.
func (m *commanded) Resume(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.run(ctx, "resume", m.commands.Resume, nil)
}

// Running reports whether the member takes connections: a frozen one does. One that
// answers nothing runs, for all that is known, unless a command of ours has ended it.
func (m *commanded) Running(ctx context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	accepts, known := m.accepts(ctx)
	return accepts || !known && !m.down, ctx.Err()
}

// Save writes what was executed to NAME.commands in dir. The member's configuration and
// log are its owner's.
func (m *commanded) Save(_ context.Context, dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.executed.Len() == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, m.member.Name+".commands"), m.executed.Bytes(), 0o644)
}

// Logged says whether there is a command for [commanded.TxnLogs].
func (m *commanded) Logged() bool { return m.commands.Log != nil }

// TxnLogs reads the member's transaction logs: what the command writes is a tar archive of
// its folder version-2.
func (m *commanded) TxnLogs(ctx context.Context, after int64) ([]io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := m.run(ctx, "log", m.commands.Log, w)
		w.CloseWithError(err) // nil is the end of what was written
		done <- err
	}()
	logs, err := txnlog.Untar(r, after)
	_, _ = io.Copy(io.Discard, r) // so that the command can end
	if runErr := <-done; runErr != nil {
		return nil, runErr
	}
	if err != nil {
		return nil, fmt.Errorf("log %s: what %s writes is no tar archive: %w", m.member.Name, Line(m.commands.Log), err)
	}
	return logs, nil
}

// Isolate implements ensembles.Cutter.
func (m *commanded) Isolate(ctx context.Context, c ensembles.Cut) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isolated {
		return fmt.Errorf("%s is cut off already, and its commands cannot say what of two cuts stays", m.member.Name)
	}
	args, err := m.fill(c)
	if err != nil {
		return err
	}
	m.isolated = m.commands.Isolate != nil
	return m.run(ctx, "isolate", args, nil)
}

// Heal implements ensembles.Cutter. It does nothing to a member that is not cut off.
func (m *commanded) Heal(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isolated {
		return nil
	}
	err := m.run(ctx, "heal", m.commands.Heal, nil)
	m.isolated = err != nil
	return err
}

// fill writes what is to be cut into the command's arguments.
func (m *commanded) fill(c ensembles.Cut) ([]string, error) {
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
			return nil, fmt.Errorf("isolate of %s is %s: without %s it cannot make this cut (%s)", m.member.Name, Line(m.commands.Isolate), name, values[name])
		}
	}
	return args, nil
}

func list(all []netip.Addr, none string) string {
	if len(all) == 0 {
		return none
	}
	var out []string
	for _, a := range all {
		out = append(out, a.String())
	}
	return strings.Join(out, ",")
}
