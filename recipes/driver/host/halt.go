package host

import (
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// A process can be paused, as by a debugger or a hypervisor, and killed. While it is paused
// its silence breaks no rule.

// Running is the process as its machine has started it.
func (p *Process) Running() site.Process { return p.run }

// PID is the id of the process, and of the group that it and all that it starts are in.
func (p *Process) PID() int { return p.run.PID() }

// Pause stops the process and all that it has started: SIGSTOP. Resume lets them go on.
func (p *Process) Pause() error {
	if err := p.here(); err != nil {
		return err
	}
	p.halts.begin(time.Now())
	if err := p.run.Pause(); err != nil {
		p.halts.end(time.Now())
		return fmt.Errorf("%s: stop process %d: %w", p.command.Name, p.PID(), err)
	}
	return nil
}

// Resume lets a process that is paused go on: SIGCONT. Safe to call twice, and of one that
// has ended.
func (p *Process) Resume() error {
	if p.here() != nil {
		return nil
	}
	if err := p.run.Resume(); err != nil {
		return fmt.Errorf("%s: let process %d go on: %w", p.command.Name, p.PID(), err)
	}
	p.halts.end(time.Now())
	return nil
}

// here says that the process has ended.
func (p *Process) here() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s: process %d has ended: %s", p.command.Name, p.PID(), p.state)
	default:
		return nil
	}
}

// Kill ends the process and all that it has started: SIGKILL. It returns when they are gone.
// Its clients are gone with it: their operations return an error, after which they are opened
// anew, which fails until Replace is called.
func (p *Process) Kill() error {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	p.run.Kill()
	select {
	case <-p.ended:
		return nil
	case <-time.After(endLimit):
		return fmt.Errorf("%s: process %d is still there %v after SIGKILL", p.command.Name, p.PID(), endLimit)
	}
}

// Replace lets another process take the place of one that was killed. It is started when a
// client is opened in it.
func (p *Process) Replace() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced = true
}

// gone says whether the process was killed, and whether another may take its place.
func (p *Process) gone() (killed, replaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed, p.replaced
}

// errKilled is why operations of a killed process's clients have ended.
func (p *Process) errKilled() error {
	return fmt.Errorf("%s: the client's process %d was killed: %w", p.command.Name, p.PID(), recipes.ErrSessionEnded)
}

// halts are the times in which a process is paused.
type halts struct {
	mu    sync.Mutex
	since time.Time // zero while it runs
	total time.Duration
	count int
}

func (h *halts) begin(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		h.since, h.count = now, h.count+1
	}
}

func (h *halts) end(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.since.IsZero() {
		h.total, h.since = h.total+now.Sub(h.since), time.Time{}
	}
}

// until returns how long the process was paused until now, and how often.
func (h *halts) until(now time.Time) (time.Duration, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return h.total, h.count
	}
	return h.total + now.Sub(h.since), h.count
}

// stopwatch measures time in which a process is not paused.
type stopwatch struct {
	halts  *halts
	begun  time.Time
	halted time.Duration // before
	count  int
}

func (h *halts) stopwatch() stopwatch {
	s := stopwatch{halts: h, begun: time.Now()}
	s.halted, s.count = h.until(s.begun)
	return s
}

// left returns how much is left of a limit; at least a moment while the process is paused.
func (s stopwatch) left(limit time.Duration) time.Duration {
	now := time.Now()
	halted, _ := s.halts.until(now)
	return limit - now.Sub(s.begun) + halted - s.halted
}

// met says whether the process was paused meanwhile.
func (s stopwatch) met() bool {
	halted, count := s.halts.until(time.Now())
	return count > s.count || halted > s.halted
}
