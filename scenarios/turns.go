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

// turns lets trials that are compared with each other run side by side, one at a time:
// between two rounds of a drain a trial yields to the next. Neighbouring rounds are
// milliseconds apart, so that what else the machine does falls on all of them alike;
// trials run one after the other are seconds apart, in which a busy machine becomes
// another one.
type turns struct {
	mu    sync.Mutex
	queue []*seat // the first has the turn
	clock turnClock
}

// seat is one trial's place among the turns.
type seat struct {
	turns *turns
	turn  chan struct{} // holds the turn until it is taken
}

// newTurns returns the seats of n trials, of which the first begins.
func newTurns(n int) []*seat {
	t := &turns{}
	for range n {
		t.queue = append(t.queue, &seat{turns: t, turn: make(chan struct{}, 1)})
	}
	t.wake()
	return slices.Clone(t.queue)
}

// wake gives the turn to the first in the queue.
func (t *turns) wake() {
	if len(t.queue) > 0 {
		t.queue[0].turn <- struct{}{}
	}
}

// take waits for this trial's turn.
func (s *seat) take(ctx context.Context) error {
	if ctx.Err() != nil { // the turn may be there as well
		return context.Cause(ctx)
	}
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// yield gives the others their turn, and returns when it is this trial's again.
func (s *seat) yield(ctx context.Context) error {
	s.pass(true)
	return s.take(ctx)
}

// leave gives up the seat for good, in turn or not.
func (s *seat) leave() { s.pass(false) }

// pass takes the seat out of the queue, to its end if it stays. If it had the turn, the
// next one has it.
func (s *seat) pass(stays bool) {
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

// sideBySide runs trials that are compared with each other, round by round in turn.
// The first error ends all of them.
func sideBySide(ctx context.Context, trials []*trial) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, t := range trials {
		g.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil { // the run heals, and keeps what was measured
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

// subjects names what runs side by side.
func subjects(group []cell) string {
	return strings.Join(namesOf(group, func(c cell) string { return c.Subject.Name }), " beside ")
}

// groups parts cells into those that run side by side: the neighbours of one trial,
// where there is a base to compare them with.
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
