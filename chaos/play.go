package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// play is a plan in execution.
type play struct {
	Plan
	target Target

	calls sync.Mutex // one call of Injected or Healed at a time

	mu    sync.Mutex
	force []*inForce // active faults, in the order of their injection
	errs  []error
}

// inForce is an active fault.
type inForce struct {
	window Window
	effect Effect
}

// entry runs one entry as often as it requires.
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
		hit := s.inject(ctx, e.Fault, index, n)
		n++
		switch {
		case hit == nil:
		case e.For == 0:
			stays = true
		case sleepUntil(ctx, time.Now().Add(e.For)) && s.claim(hit):
			s.undo(ctx, hit)
			s.awaitBack(ctx, hit)
		}
		if !again {
			return
		}
	}
}

// missed records an entry that was never due: the trial was not tested by its fault.
func (s *play) missed(e Entry) {
	now := s.Now()
	s.done(Window{Fault: e.Fault.String(), Client: -1, Start: now, Proven: now, Healing: now, End: now,
		Err: fmt.Errorf("%s: %w: the play ended before its time came", e.Fault, ErrNoEffect)})
}

// inject injects one fault. It returns nil if there is nothing to heal.
func (s *play) inject(ctx context.Context, f Fault, index, n int) *inForce {
	t := s.target
	t.Random = s.generator(index, n)
	if s.Injecting != nil {
		s.Injecting()
	}
	w := Window{Fault: f.String(), Client: -1, Start: s.Now()}
	effect, err := try(func() (Effect, error) { return f.Inject(ctx, t) })
	w.Proven, w.Err = s.Now(), err
	if effect.Target != "" {
		w.Target, w.Client, w.Served = effect.Target, effect.Client, effect.Served
	}
	w.Healing, w.End = w.Proven, w.Proven
	if err != nil {
		if n > 0 && ctx.Err() != nil && !errors.Is(err, ErrNotHealed) { // the play ended during a repetition
			if errors.As(err, new(untouched)) {
				return nil
			}
			w.Err, w.CutShort = nil, true
		}
		s.done(w)
		return nil
	}
	w.Proof = effect.Proof
	s.call(s.Injected, w)
	if effect.Undo == nil {
		s.done(w)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hit := &inForce{window: w, effect: effect}
	s.force = append(s.force, hit)
	return hit
}

// generator returns the random choices of one injection. Each has its own source, so that a fault's
// choices do not depend on the timing of others.
func (s *play) generator(index, n int) func(int) int {
	r := rand.New(rand.NewPCG(s.Seed, uint64(index)<<32|uint64(n)))
	var mu sync.Mutex
	return func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
}

// claim removes a fault from the active ones, and reports whether it was still there: otherwise it
// is being healed with all others.
func (s *play) claim(f *inForce) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.force)
	s.force = slices.DeleteFunc(s.force, func(o *inForce) bool { return o == f })
	return len(s.force) < before
}

// undo undoes a fault.
func (s *play) undo(ctx context.Context, f *inForce) {
	f.window.Healing = s.Now()
	f.window.Err = s.limited(ctx, f, f.effect.Undo)
}

// awaitBack waits for the target to recover. The fault is over then.
func (s *play) awaitBack(ctx context.Context, f *inForce) {
	if !errors.Is(f.window.Err, ErrNotHealed) && f.effect.Back != nil {
		f.window.Err = cmp.Or(s.limited(ctx, f, f.effect.Back), f.window.Err)
	}
	f.window.End = s.Now()
	s.done(f.window)
}

// limited runs a step of healing a fault. The step continues when the context ends.
func (s *play) limited(ctx context.Context, f *inForce, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.HealLimit, fmt.Errorf("not healed within %v", s.HealLimit))
	defer cancel()
	_, err := try(func() (Effect, error) { return Effect{}, step(ctx) })
	if errors.Is(err, errVanished) {
		return fmt.Errorf("%s of %s: %w", f.window.Fault, f.window.Target, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %s of %s: %w", ErrNotHealed, f.window.Fault, f.window.Target, err)
	}
	return nil
}

// healAll heals all active faults, the latest first.
func (s *play) healAll(ctx context.Context) {
	s.mu.Lock()
	rest := s.force
	s.force = nil
	s.mu.Unlock()
	slices.Reverse(rest)
	for _, f := range rest {
		s.undo(ctx, f)
	}
	for _, f := range rest {
		s.awaitBack(ctx, f)
	}
}

// done records a fault that is over.
func (s *play) done(w Window) {
	s.mu.Lock()
	if w.Err != nil {
		s.errs = append(s.errs, w.Err)
		w.Proof = ""
	}
	s.mu.Unlock()
	s.call(s.Healed, w)
}

// call calls f unless it is nil, one call at a time.
func (s *play) call(f func(Window), w Window) {
	if f == nil {
		return
	}
	s.calls.Lock()
	defer s.calls.Unlock()
	f(w)
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
