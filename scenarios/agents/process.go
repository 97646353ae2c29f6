package agents

import (
	"errors"
	"net"
	"strings"

	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// Name implements site.Site.
func (p *peer) Name() string { return p.name }

// Start implements site.Site. The program's folder and files must exist on the agent's machine.
func (p *peer) Start(program site.Program) (site.Process, error) {
	key, _, _ := strings.Cut(program.Mark, "=")
	var r msg.StartReply
	if err := p.call("Start", msg.StartArgs{Args: program.Args, Env: program.Env, Dir: program.Dir, MarkKey: key}, &r); err != nil {
		return nil, err
	}
	q := &process{peer: p, id: r.ID, pid: r.PID, exited: make(chan struct{})}
	for kind, to := range map[string]*net.Conn{msg.StreamStdin: &q.stdin, msg.StreamStdout: &q.stdout, msg.StreamStderr: &q.stderr} {
		var err error
		if *to, err = open(p.link, msg.Opening{Kind: kind, ID: r.ID}); err != nil {
			q.Kill()
			return nil, err
		}
	}
	go q.watch()
	return q, nil
}

type process struct {
	peer                  *peer
	id, pid               int
	stdin, stdout, stderr net.Conn
	exited                chan struct{}
	exit                  msg.ExitReply
	lost                  bool
}

// watch waits until the program has exited, or its agent is lost.
func (q *process) watch() {
	if err := q.peer.await("Exit", q.id, &q.exit, nil); err != nil {
		q.exit = msg.ExitReply{Text: err.Error(), Code: -1}
		if q.lost = errors.Is(err, errLost); q.lost {
			<-q.peer.closed // from then on its clients move to other agents
		}
	}
	close(q.exited)
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
