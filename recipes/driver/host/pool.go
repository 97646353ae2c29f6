package host

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// pool has idle processes for the next trial of a run: starting a JVM takes a second.
type pool struct {
	mu     sync.Mutex
	idle   map[string][]*Process // by command
	ended  []*Process
	closed bool
}

// poolOf returns the pool of a run; nil if processes are not kept.
func poolOf(k *recipes.TrialResources) *pool {
	if k == nil {
		return nil
	}
	return k.Of("driver processes", func() io.Closer { return &pool{idle: map[string][]*Process{}} }).(*pool)
}

// key is the same for commands that start the same process on the same machine.
func key(c Command, on string) string {
	env := slices.Sorted(slices.Values(c.Env))
	return fmt.Sprintf("%q %q %q %q %q", c.Name, c.Args, env, c.Dir, on)
}

// take returns an idle process, or nil.
func (q *pool) take(c Command, on site.Site) *Process {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for k := key(c, on.Name()); len(q.idle[k]) > 0; {
		last := len(q.idle[k]) - 1
		p := q.idle[k][last]
		q.idle[k] = q.idle[k][:last]
		if p.Err() == nil {
			return p
		}
		q.ended = append(q.ended, p)
	}
	return nil
}

// keep keeps a process for the next trial, and reports whether it does: not if it had an error.
func (q *pool) keep(p *Process) bool {
	if q == nil || !p.sound() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	p.attach("", nil)
	k := key(p.command, p.machine)
	q.idle[k] = append(q.idle[k], p)
	return true
}

// Close stops all idle processes.
func (q *pool) Close() error {
	q.mu.Lock()
	q.closed = true
	processes := slices.Concat(append(slices.Collect(maps.Values(q.idle)), q.ended)...)
	q.idle = nil
	q.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range processes {
		all.Go(func() { _ = p.Stop() })
	}
	all.Wait()
	return nil
}

// sound reports whether the process had no error and has no operation in progress.
func (p *Process) sound() bool {
	if p.halts.stopwatch().count > 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	busy := false
	for _, c := range p.calls {
		busy = busy || c.Op != "clock"
	}
	return !busy && p.wrong == nil && !p.leaving && len(p.late) == 0 && len(p.clients) == 0
}

// attach assigns the process to a trial: the file for its output, and the function for its errors.
func (p *Process) attach(stderr string, wrong func(error)) {
	p.output.to(stderr)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onWrong = wrong
}
