package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// play is a plan being played.
type play struct {
	Plan
	target Target

	telling sync.Mutex // Played and Injected are told one at a time

	mu    sync.Mutex
	force []*standing // faults in force, in the order of their injection
	errs  []error
}

// standing is a fault in force.
type standing struct {
	played Played
	effect Effect
}

// entry plays one entry as often as it says.
func (s *play) entry(ctx context.Context, index int) {
	e, stays := s.Entries[index], false
	n := 0
	defer func() {
		if n == 0 {
			s.missed(e)
		}
		if stays { // healed when the play ends, in reverse order with the others
			<-ctx.Done()
		}
	}()
	if !s.Events.wait(ctx, e.On) {
		return
	}
	for due := time.Now().Add(e.At); sleepUntil(ctx, due); {
		gap, again := e.gap(n + 1)
		due = time.Now().Add(gap)
		st := s.inject(ctx, e.Fault, index, n)
		n++
		switch {
		case st == nil:
		case e.For == 0:
			stays = true
		case sleepUntil(ctx, time.Now().Add(e.For)):
			s.mend(ctx, st)
		}
		if !again {
			return
		}
	}
}

// missed records an entry whose time never came: a trial without its fault must
// not look as if it had withstood it.
func (s *play) missed(e Entry) {
	now := s.Now()
	s.done(Played{Fault: e.Fault.String(), Client: -1, Start: now, Proven: now, Mended: now, End: now,
		Err: fmt.Errorf("%s: %w: the play ended before its time came", e.Fault, ErrNoEffect)})
}

// inject makes one fault go wrong. It returns nil if there is nothing to heal.
func (s *play) inject(ctx context.Context, f Fault, index, n int) *standing {
	t := s.target
	t.Random = s.generator(index, n)
	if s.Striking != nil {
		s.Striking()
	}
	p := Played{Fault: f.String(), Client: -1, Start: s.Now()}
	effect, err := try(func() (Effect, error) { return f.Inject(ctx, t) })
	p.Proven, p.Err = s.Now(), err
	p.Mended, p.End = p.Proven, p.Proven
	if err != nil {
		// A repetition that the end of the play overtook is no loss.
		if n == 0 || ctx.Err() == nil || errors.Is(err, ErrNotHealed) {
			s.done(p)
		}
		return nil
	}
	p.Target, p.Client, p.Served, p.Proof = effect.Target, effect.Client, effect.Served, effect.Proof
	if s.Injected != nil {
		s.tell(s.Injected, p)
	}
	if effect.Undo == nil {
		s.done(p)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &standing{played: p, effect: effect}
	s.force = append(s.force, st)
	return st
}

// generator returns the random choices of one injection. Each has its own, so that
// what one fault draws does not depend on when the others draw.
func (s *play) generator(index, n int) func(int) int {
	r := rand.New(rand.NewPCG(s.Seed, uint64(index)<<32|uint64(n)))
	var mu sync.Mutex
	return func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
}

// mend heals a fault, also when the context has ended.
func (s *play) mend(ctx context.Context, st *standing) {
	if !s.claim(st) {
		return // it is being healed with all others
	}
	s.undo(ctx, st)
	s.await(ctx, st)
}

// claim takes a fault from those in force, and reports whether it was still there.
func (s *play) claim(st *standing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.force)
	s.force = slices.DeleteFunc(s.force, func(o *standing) bool { return o == st })
	return len(s.force) < before
}

// undo takes a fault away.
func (s *play) undo(ctx context.Context, st *standing) {
	st.played.Mended = s.Now()
	st.played.Err = s.limited(ctx, st, st.effect.Undo)
}

// await waits for what a fault hit to come back, and tells that it is over.
func (s *play) await(ctx context.Context, st *standing) {
	if st.played.Err == nil && st.effect.Back != nil {
		st.played.Err = s.limited(ctx, st, st.effect.Back)
	}
	st.played.End = s.Now()
	s.done(st.played)
}

// limited takes a step of healing a fault, which goes on when the context ends.
func (s *play) limited(ctx context.Context, st *standing, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.HealLimit, fmt.Errorf("not healed within %v", s.HealLimit))
	defer cancel()
	if _, err := try(func() (Effect, error) { return Effect{}, step(ctx) }); err != nil {
		return fmt.Errorf("%w: %s of %s: %w", ErrNotHealed, st.played.Fault, st.played.Target, err)
	}
	return nil
}

// unwind heals what is still in force, the latest first.
func (s *play) unwind(ctx context.Context) {
	s.mu.Lock()
	rest := s.force
	s.force = nil
	s.mu.Unlock()
	slices.Reverse(rest)
	for _, st := range rest {
		s.undo(ctx, st)
	}
	for _, st := range rest {
		s.await(ctx, st)
	}
}

func (s *play) done(p Played) {
	s.mu.Lock()
	if p.Err != nil {
		s.errs = append(s.errs, p.Err)
		p.Proof = ""
	}
	s.mu.Unlock()
	if s.Played != nil {
		s.tell(s.Played, p)
	}
}

// tell calls back, one call at a time.
func (s *play) tell(f func(Played), p Played) {
	s.telling.Lock()
	defer s.telling.Unlock()
	f(p)
}

// try turns a panic into an error, so that the other faults are healed.
func try(f func() (Effect, error)) (e Effect, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// sleepUntil waits for the time to come, and reports whether it did before the context ended.
func sleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
