package host

import (
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes/driver/site"
)

// A process can be paused, as by a debugger or a hypervisor, and killed. The time limits of the protocol
// do not include pauses.

// Running returns the operating system process.
func (p *Process) Running() site.Process { return p.run }

// PID returns the process ID on the process's machine.
func (p *Process) PID() int { return p.run.PID() }

// Pause stops the process group with SIGSTOP, until Resume is called.
func (p *Process) Pause() error {
	if err := p.checkRunning(); err != nil {
		return err
	}
	p.pauses.set(true)
	if err := p.run.Pause(); err != nil {
		p.pauses.set(false)
		return fmt.Errorf("%s: pause process %d: %w", p.command.Name, p.PID(), err)
	}
	return nil
}

// Resume continues a paused process with SIGCONT. It has no effect if the process is not paused or has ended.
func (p *Process) Resume() error {
	if p.checkRunning() != nil {
		return nil
	}
	if err := p.run.Resume(); err != nil {
		return fmt.Errorf("%s: resume process %d: %w", p.command.Name, p.PID(), err)
	}
	p.pauses.set(false)
	return nil
}

func (p *Process) checkRunning() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s: process %d has ended: %s", p.command.Name, p.PID(), p.state)
	default:
		return nil
	}
}

// Kill kills the process group with SIGKILL and waits up to endLimit for its end. Pending operations of
// its clients return errors; the clients must be opened again, which fails until Replace is called.
func (p *Process) Kill() error {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	p.run.Kill()
	select {
	case <-p.ended:
		return nil
	case <-time.After(endLimit):
		return fmt.Errorf("%s: process %d is still running %v after SIGKILL", p.command.Name, p.PID(), endLimit)
	}
}

// Replace allows a new process in place of a killed one. It is started when a client is opened in it.
func (p *Process) Replace() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced = true
}

func (p *Process) killState() (killed, replaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed, p.replaced
}

type pauseLog struct {
	mu    sync.Mutex
	since time.Time // start of the current pause; zero if there is none
	total time.Duration
	count int
}

// set begins or ends a pause, unless that has already happened.
func (h *pauseLog) set(paused bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch now := time.Now(); {
	case paused && h.since.IsZero():
		h.since, h.count = now, h.count+1
	case !paused && !h.since.IsZero():
		h.total, h.since = h.total+now.Sub(h.since), time.Time{}
	}
}

func (h *pauseLog) until(now time.Time) (time.Duration, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return h.total, h.count
	}
	return h.total + now.Sub(h.since), h.count
}

type stopwatch struct {
	pauses *pauseLog
	begun  time.Time
	paused time.Duration // paused time before begun
	count  int
}

func (h *pauseLog) stopwatch() stopwatch {
	s := stopwatch{pauses: h, begun: time.Now()}
	s.paused, s.count = h.until(s.begun)
	return s
}

// left returns the rest of limit. Paused time since the start does not count.
func (s stopwatch) left(limit time.Duration) time.Duration {
	now := time.Now()
	paused, _ := s.pauses.until(now)
	return limit - now.Sub(s.begun) + paused - s.paused
}

func (s stopwatch) pausedSince() bool {
	paused, count := s.pauses.until(time.Now())
	return count > s.count || paused > s.paused
}
