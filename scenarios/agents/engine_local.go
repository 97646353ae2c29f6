package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// joinLimit bounds the time that agents need to join: a cluster may have to pull an image.
const joinLimit = 5 * time.Minute

// endLimit bounds the time that an agent needs to stop.
const endLimit = 10 * time.Second

type local struct{ joinFileEngine }

func (l local) Start(_ context.Context, j Join, ended func(error)) (stop func() error, err error) {
	file, err := l.writeJoin(j)
	if err != nil {
		return nil, err
	}
	s := &localAgents{}
	stop = func() error { s.end(); return os.Remove(file) }
	for i := range l.n {
		name := fmt.Sprintf("local-%d", i+1)
		args := slices.Concat(l.Self, []string{"agent", "--attached", "--join", file, "--name", name, "--index", fmt.Sprint(i)})
		if err := s.start(l.EngineConfig, name, args, ended); err != nil {
			return stop, err
		}
	}
	return stop, nil
}

type localAgents struct {
	ending   atomic.Bool
	all      []site.Process
	watchers sync.WaitGroup
}

// Mark names the agents' environment variable whose value identifies the process that started them.
const Mark = "ZKBENCH_AGENT"

// start starts an agent. Its output goes to a file. Its stdin stays open: an agent stops when it ends.
func (s *localAgents) start(p EngineConfig, name string, args []string, ended func(error)) error {
	log, err := os.Create(filepath.Join(p.Dir, name+".log"))
	if err != nil {
		return err
	}
	r, err := site.Here{}.Start(site.Program{Args: args, Mark: Mark + "=" + p.Owner})
	if err != nil {
		return errors.Join(fmt.Errorf("start agent %s: %w", name, err), log.Close())
	}
	s.all = append(s.all, r)
	var printed sync.WaitGroup
	for _, from := range []site.Output{r.Stdout(), r.Stderr()} { // the output is for users
		printed.Go(func() {
			defer from.Close()
			_, _ = io.Copy(log, from)
		})
	}
	s.watchers.Go(func() {
		<-r.Exited()
		_ = r.Stdin().Close()
		late := time.Now().Add(time.Second) // another process may keep the pipes open
		_, _ = r.Stdout().SetReadDeadline(late), r.Stderr().SetReadDeadline(late)
		printed.Wait()
		_ = log.Close()
		if text, _ := r.State(); !s.ending.Load() {
			ended(fmt.Errorf("agent %s has ended (%s)%s", name, text, lastLine(log.Name())))
		}
	})
	return nil
}

// end stops all processes: their stdin is closed, and processes that do not exit in time are killed.
func (s *localAgents) end() {
	s.ending.Store(true)
	var ends sync.WaitGroup
	for _, r := range s.all {
		ends.Go(func() {
			_ = r.Stdin().Close()
			select {
			case <-r.Exited():
			case <-time.After(endLimit):
				r.Kill()
				<-r.Exited()
			}
		})
	}
	ends.Wait()
	s.watchers.Wait()
}

// crash matches the first line of a Go program's crash message.
var crash = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)

// lastLine returns the last line of a log, or the first line of a crash in it, as a suffix for an error.
func lastLine(log string) string {
	text, _ := os.ReadFile(log) // an agent prints a few lines
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if line := cmp.Or(crash.FindString(string(text)), lines[len(lines)-1]); line != "" {
		return ": " + line
	}
	return ""
}

type machine struct{ peer *peer }

func (m *machine) Name() string { return m.peer.name }

// Start implements site.Site. The program's folder and files must exist on the agent's machine.
func (m *machine) Start(p site.Program) (site.Process, error) {
	key, _, _ := strings.Cut(p.Mark, "=")
	var r msg.StartReply
	if err := m.peer.call("Start", msg.StartArgs{Args: p.Args, Env: p.Env, Dir: p.Dir, MarkKey: key}, &r); err != nil {
		return nil, err
	}
	q := &process{peer: m.peer, id: r.ID, pid: r.PID, exited: make(chan struct{})}
	for kind, to := range map[string]**pipeEnd{msg.StreamStdin: &q.stdin, msg.StreamStdout: &q.stdout, msg.StreamStderr: &q.stderr} {
		stream, err := open(m.peer.link, msg.Opening{Kind: kind, ID: r.ID})
		if err != nil {
			_ = m.peer.call("Forget", r.ID, nil)
			return nil, err
		}
		*to = &pipeEnd{Conn: stream, closed: make(chan struct{})}
	}
	go q.watch()
	return q, nil
}

type process struct {
	peer                  *peer
	id                    int64
	pid                   int
	stdin, stdout, stderr *pipeEnd
	exited                chan struct{}
	exit                  msg.ExitReply
	lost                  bool
}

type pipeEnd struct {
	net.Conn
	once   sync.Once
	closed chan struct{} // closed when Close is called
}

func (e *pipeEnd) Close() error {
	e.once.Do(func() { close(e.closed) })
	return e.Conn.Close()
}

// watch waits until the program has exited, and its output is read, or until its agent is lost.
func (q *process) watch() {
	if err := q.peer.await("Exit", q.id, &q.exit, nil); err != nil {
		q.exit = msg.ExitReply{Text: err.Error(), Code: -1}
		if q.lost = errors.Is(err, errLost); q.lost {
			<-q.peer.closed // from then on its clients move to other agents
		}
	}
	close(q.exited)
	if !q.lost {
		<-q.stdout.closed
		<-q.stderr.closed
		_ = q.peer.call("Forget", q.id, nil)
	}
}

func (q *process) PID() int                { return q.pid }
func (q *process) Stdin() site.Stdin       { return q.stdin }
func (q *process) Stdout() site.Output     { return q.stdout }
func (q *process) Stderr() site.Output     { return q.stderr }
func (q *process) Exited() <-chan struct{} { return q.exited }
func (q *process) Pause() error            { return q.signal(msg.Pause) }
func (q *process) Resume() error           { return q.signal(msg.Resume) }
func (q *process) Kill()                   { _ = q.signal(msg.Kill) }

func (q *process) signal(what string) error {
	return q.peer.call("Signal", msg.SignalArgs{ID: q.id, What: what}, nil)
}

// Group returns the existing processes of the program's group, and the stopped ones.
func (q *process) Group() (all, stopped []int) {
	var r msg.GroupReply
	_ = q.peer.call("Group", q.id, &r)
	return r.All, r.Stopped
}

func (q *process) State() (text string, code int) { return q.exit.Text, q.exit.Code }

func (q *process) Lost() bool { return q.lost }
