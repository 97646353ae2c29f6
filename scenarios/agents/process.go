package agents

import (
	"errors"
	"net"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// machine is an agent's: programs are started there.
type machine struct{ peer *peer }

// Name implements site.Site.
func (m *machine) Name() string { return m.peer.name }

// Start implements site.Site. The program's folder and its files must be there.
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
	closed chan struct{} // when nobody reads from it, or writes to it, any more
}

// Close implements io.Closer.
func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return e.Conn.Close()
}

// watch waits until the program has exited, or its agent is lost. What it has said until then
// is read before it is forgotten.
func (q *process) watch() {
	if err := q.peer.await("Exit", q.id, &q.exit); err != nil {
		q.exit = msg.ExitReply{Text: err.Error(), Code: -1}
		if q.lost = errors.Is(err, errLost); q.lost {
			<-q.peer.gone // from then on its fleet gives its clients to others
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

// Group returns the processes of the program's group that are there, and those that are
// stopped.
func (q *process) Group() (all, stopped []int) {
	var r msg.GroupReply
	_ = q.peer.call("Group", q.id, &r) // nothing of one that is forgotten
	return r.All, r.Stopped
}

// State implements site.Process.
func (q *process) State() (text string, code int) { return q.exit.Text, q.exit.Code }

// Lost implements site.Process.
func (q *process) Lost() bool { return q.lost }
