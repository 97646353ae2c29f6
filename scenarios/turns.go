package scenarios

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// turns lets trials that are compared with each other run side by side, one at a
// time: between two rounds of a drain a trial hands over to the next. Neighbouring
// rounds are milliseconds apart, so that what else the machine does falls on all of
// them alike; trials run one after the other are seconds apart, in which a busy
// machine becomes another one.
type turns struct {
	mu    sync.Mutex
	seats []chan struct{} // a seat's channel holds the turn; nil once its trial has left
}

func newTurns(n int) *turns {
	t := &turns{seats: make([]chan struct{}, n)}
	for i := range t.seats {
		t.seats[i] = make(chan struct{}, 1)
	}
	if n > 0 {
		t.seats[0] <- struct{}{}
	}
	return t
}

// seat is one trial's place among the turns. A nil seat has nobody beside it.
type seat struct {
	turns *turns
	i     int
	has   bool // it is this trial's turn
}

func (t *turns) seat(i int) *seat { return &seat{turns: t, i: i} }

// take waits for this trial's turn.
func (s *seat) take(ctx context.Context) error {
	if s == nil || s.has {
		return nil
	}
	if ctx.Err() != nil { // the turn may be there as well
		return context.Cause(ctx)
	}
	select {
	case <-s.turns.seats[s.i]:
		s.has = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// yield gives the others their turn, and returns when it is this trial's again.
func (s *seat) yield(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.pass()
	return s.take(ctx)
}

// leave gives up the seat for good. A trial that leaves out of turn, because its
// context is done, leaves one that nobody waits for.
func (s *seat) leave() {
	if s == nil {
		return
	}
	s.pass()
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	gone := s.turns.seats[s.i]
	s.turns.seats[s.i] = nil
	select {
	case <-gone: // the turn came after all: the next one's
		s.turns.next(s.i)
	default:
	}
}

// pass hands the turn to the next seat that is taken, which may be this one.
func (s *seat) pass() {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	if s.has {
		s.has = false
		s.turns.next(s.i)
	}
}

// next wakes the first trial after the i-th that is still there; mu is held.
func (t *turns) next(i int) {
	for k := 1; k <= len(t.seats); k++ {
		if seat := t.seats[(i+k)%len(t.seats)]; seat != nil {
			seat <- struct{}{}
			return
		}
	}
}

// sideBySide runs trials that are compared with each other, round by round in turn.
// The first error ends all of them.
func sideBySide(ctx context.Context, trials []*trial) error {
	g, ctx := errgroup.WithContext(ctx)
	turns := newTurns(len(trials))
	for i, t := range trials {
		if len(trials) > 1 {
			t.seat = turns.seat(i)
		}
		g.Go(func() error {
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
	var names []string
	for _, c := range group {
		names = append(names, c.Subject.Name)
	}
	return strings.Join(names, " beside ")
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
