package scenarios

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// turns lets trials that are compared with each other alternate, one at a time: between two rounds
// of a drain a trial yields to the next. Successive rounds are milliseconds apart, so that other
// load of the machine affects all of them equally; successive trials are seconds apart, in which the
// load may change.
type turns struct {
	mu    sync.Mutex
	queue []*turnSlot // the first one has the turn
	clock turnClock
}

// turnSlot is the place of one trial in the queue of turns.
type turnSlot struct {
	turns *turns
	turn  chan struct{} // receives a value when the turn begins
}

// newTurns returns the seats of n trials; the first has the turn.
func newTurns(n int) []*turnSlot {
	t := &turns{}
	for range n {
		t.queue = append(t.queue, &turnSlot{turns: t, turn: make(chan struct{}, 1)})
	}
	t.wake()
	return slices.Clone(t.queue)
}

func (t *turns) wake() {
	if len(t.queue) > 0 {
		t.queue[0].turn <- struct{}{}
	}
}

func (s *turnSlot) acquire(ctx context.Context) error {
	if ctx.Err() != nil { // the turn may have come at the same time
		return context.Cause(ctx)
	}
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// yield lets the other trials run, and returns when it is this trial's turn again.
func (s *turnSlot) yield(ctx context.Context) error {
	s.release(true)
	return s.acquire(ctx)
}

func (s *turnSlot) leave() { s.release(false) }

// release removes the seat from the queue, or moves it to the end if it stays. If it had the turn, the
// next one gets it.
func (s *turnSlot) release(stays bool) {
	t := s.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.queue, s)
	t.queue = slices.Delete(t.queue, i, i+1)
	if stays {
		t.queue = append(t.queue, s)
	}
	if i == 0 {
		t.wake()
	}
}

// sideBySide runs trials that are compared with each other in alternation. The first error ends all
// of them.
func sideBySide(ctx context.Context, trials []*trial) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, t := range trials {
		g.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil { // so that the run heals faults and keeps its results
					err = fmt.Errorf("trial %s: panic: %v\n%s", t.name, p, debug.Stack())
				}
			}()
			if err := t.run(ctx); err != nil {
				return fmt.Errorf("trial %s: %w", t.name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func subjects(group []cell) string {
	return strings.Join(namesOf(group, func(c cell) string { return c.Subject.Name }), " beside ")
}

// groups returns the cells in groups that alternate: if there is a base, the subjects of one
// repetition.
func groups(cells []cell, base string) [][]cell {
	var out [][]cell
	for i, c := range cells {
		if base != "" && i > 0 && c.Trial > 0 && c.Trial == cells[i-1].Trial && c.Clients == cells[i-1].Clients {
			out[len(out)-1] = append(out[len(out)-1], c)
			continue
		}
		out = append(out, []cell{c})
	}
	return out
}
