package agents

import (
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// servedProcess is a program that the agent has started.
type servedProcess struct {
	site.Process
	once sync.Once
}

func (s *server) process(id int64) *servedProcess {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processes[id]
}

func (v *service) process(id int64) (*servedProcess, error) {
	if p := v.s.process(id); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("process %d does not belong to this agent", id)
}

func (v *service) Start(a msg.StartArgs, r *msg.StartReply) error {
	p, err := v.s.start(a)
	if err != nil {
		return fmt.Errorf("on %s: %w", v.s.agent.Name, err)
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	v.s.last++
	v.s.processes[v.s.last] = &servedProcess{Process: p}
	r.ID, r.PID = v.s.last, p.PID()
	return nil
}

// start starts a program, or a subject inside this process.
func (s *server) start(a msg.StartArgs) (site.Process, error) {
	args := a.Args
	switch {
	case len(args) == 2 && args[0] == site.Agent:
		return s.inside(args[1])
	case len(args) > 0 && args[0] == site.Self:
		args = slices.Concat(s.agent.Self, args[1:])
	}
	return site.Here{}.Start(site.Program{Args: args, Env: append(a.Env, clock.Skew+"="+s.agent.Skew), Dir: a.Dir, Mark: a.MarkKey + "=" + s.agent.Owner})
}

// attach copies one of the program's pipes until it ends. If the link ended first, the program is
// not notified: it would close its sessions, which a lost client cannot.
func (p *servedProcess) attach(kind string, stream net.Conn, lost func() bool) {
	switch kind {
	case msg.StreamStdin:
		if _, _ = io.Copy(p.Stdin(), stream); !lost() {
			_ = p.Stdin().Close()
		}
	case msg.StreamStdout:
		_, _ = io.Copy(stream, p.Stdout())
	case msg.StreamStderr:
		_, _ = io.Copy(stream, p.Stderr())
	}
}

// Signal signals a program.
func (v *service) Signal(a msg.SignalArgs, _ *msg.Nothing) error {
	p, err := v.process(a.ID)
	if err != nil {
		return err
	}
	switch a.What {
	case msg.Pause:
		return p.Pause()
	case msg.Resume:
		return p.Resume()
	case msg.Kill:
		p.Kill()
		return nil
	}
	return fmt.Errorf("%q is nothing that can be done to a process", a.What)
}

func (v *service) Group(id int64, r *msg.GroupReply) error {
	p, err := v.process(id)
	if err == nil {
		r.All, r.Stopped = chaos.GroupHere(p.PID())
	}
	return err
}

// Exit returns once a program has exited.
func (v *service) Exit(id int64, r *msg.ExitReply) error {
	p, err := v.process(id)
	if err != nil {
		return err
	}
	<-p.Exited()
	r.Text, r.Code = p.State()
	return nil
}

func (v *service) Forget(id int64, _ *msg.Nothing) error {
	v.s.mu.Lock()
	p := v.s.processes[id]
	delete(v.s.processes, id)
	v.s.mu.Unlock()
	if p != nil {
		p.end()
	}
	return nil
}

// end kills a program that has not exited, and closes its pipes.
func (p *servedProcess) end() {
	p.once.Do(func() {
		select {
		case <-p.Exited():
		default:
			p.Kill()
			<-p.Exited()
		}
		// Processes that have left the group may keep them open.
		_, _ = p.Stdout().SetReadDeadline(time.Now()), p.Stderr().SetReadDeadline(time.Now())
		_, _, _ = p.Stdin().Close(), p.Stdout().Close(), p.Stderr().Close()
	})
}
