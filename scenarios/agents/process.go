package agents

import (
	"errors"
	"net"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// machine is an agent's machine as a site for programs.
type machine struct{ peer *peer }

func (m *machine) Name() string { return m.peer.name }

// Start implements site.Site. The program's folder and files must exist there.
func (m *machine) Start(p site.Program) (site.Process, error) {
	key, _, _ := strings.Cut(p.Mark, "=")
	var r msg.StartReply
	if err := m.peer.call("Start", msg.StartArgs{Args: p.Args, Env: p.Env, Dir: p.Dir, MarkKey: key}, &r); err != nil {
		return nil, err
	}
	q := &process{peer: m.peer, id: r.ID, pid: r.PID, exited: make(chan struct{})}
	for kind, to := range map[string]**end{msg.StreamStdin: &q.stdin, msg.StreamStdout: &q.stdout, msg.StreamStderr: &q.stderr} {
		stream, err := open(m.peer.link, msg.Opening{Kind: kind, ID: r.ID})
		if err != nil {
			_ = m.peer.call("Forget", r.ID, &msg.Nothing{})
			return nil, err
		}
		*to = &end{Conn: stream, closed: make(chan struct{})}
	}
	go q.watch()
	return q, nil
}

// process is a program on an agent's machine.
type process struct {
	peer                  *peer
	id                    int64
	pid                   int
	stdin, stdout, stderr *end
	exited                chan struct{}
	exit                  msg.ExitReply
	lost                  bool
}

// end is our end of a program's pipe.
type end struct {
	net.Conn
	once   sync.Once
	closed chan struct{} // closed when the pipe is
}

func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return e.Conn.Close()
}

// watch waits until the program has exited or its agent is lost. It reads the remaining output
// first.
func (q *process) watch() {
	if err := q.peer.await("Exit", q.id, &q.exit); err != nil {
		q.exit = msg.ExitReply{Text: err.Error(), Code: -1}
		if q.lost = errors.Is(err, errLost); q.lost {
			<-q.peer.gone // from then on its clients move to other agents
		}
	}
	close(q.exited)
	if !q.lost {
		<-q.stdout.closed
		<-q.stderr.closed
		_ = q.peer.call("Forget", q.id, &msg.Nothing{})
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
	return q.peer.call("Signal", msg.SignalArgs{ID: q.id, What: what}, &msg.Nothing{})
}

// Group returns the existing processes of the program's group, and the stopped ones.
func (q *process) Group() (all, stopped []int) {
	var r msg.GroupReply
	_ = q.peer.call("Group", q.id, &r)
	return r.All, r.Stopped
}

func (q *process) State() (text string, code int) { return q.exit.Text, q.exit.Code }

func (q *process) Lost() bool { return q.lost }
