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

	"github.com/zkbench/zkbench/chaos/network"
)

type play struct {
	Plan
	target Target

	calls sync.Mutex // one call of Injected or Healed at a time

	mu     sync.Mutex
	active []*activeFault // active faults, in the order of their injection
	errs   []error
}

type activeFault struct {
	window Window
	effect Effect
}

func (s *play) entry(ctx context.Context, index int) {
	e, stays := s.Entries[index], false
	n := 0
	defer func() {
		if n == 0 {
			s.missed(e)
		}
		if stays { // healed when the plan ends, in reverse order with the others
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
			s.awaitRecovery(ctx, hit)
		}
		if !again {
			return
		}
	}
}

func (s *play) missed(e Entry) {
	now := s.Now()
	s.done(Window{Fault: e.Fault.String(), Client: -1, Start: now, ProvenAt: now, HealingAt: now, End: now,
		Err: fmt.Errorf("%s: %w: the phase ended before the fault was due", e.Fault, ErrNoEffect)})
}

// inject injects a fault and records it. It returns nil if there is nothing to heal.
func (s *play) inject(ctx context.Context, f Fault, index, n int) *activeFault {
	t := s.target
	t.Random = s.generator(index, n)
	if s.Injecting != nil {
		s.Injecting()
	}
	w := Window{Fault: f.String(), Client: -1, Start: s.Now()}
	effect, err := try(func() (Effect, error) { return f.Inject(ctx, t) })
	w.ProvenAt, w.Err = s.Now(), err
	if effect.Target != "" {
		w.Target, w.Client, w.ServedClients = effect.Target, effect.Client, effect.ServedClients
	}
	w.HealingAt, w.End = w.ProvenAt, w.ProvenAt
	if err != nil {
		ended := ctx.Err() != nil && !errors.Is(err, ErrNotHealed) // during the injection
		switch {
		case ended && n > 0 && errors.As(err, new(untouchedError)):
			return nil
		case ended && n > 0:
			w.Err, w.CutShort = nil, true
		case ended:
			w.Err = fmt.Errorf("the phase ended %v after the begin of the fault, which was too early to prove its effect (use longer phases): %w", (w.ProvenAt - w.Start).Round(time.Millisecond), err)
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
	hit := &activeFault{window: w, effect: effect}
	s.active = append(s.active, hit)
	return hit
}

// generator returns the random function of one injection. Each injection has its own source, so that
// a fault's choices do not depend on the timing of other faults.
func (s *play) generator(index, n int) func(int) int {
	r := rand.New(rand.NewPCG(s.Seed, uint64(index)<<32|uint64(n)))
	var mu sync.Mutex
	return func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
}

// claim removes a fault from the active faults. It returns false if healAll is healing the fault.
func (s *play) claim(f *activeFault) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.active)
	s.active = slices.DeleteFunc(s.active, func(o *activeFault) bool { return o == f })
	return len(s.active) < before
}

func (s *play) undo(ctx context.Context, f *activeFault) {
	f.window.HealingAt = s.Now()
	f.window.Err = s.limited(ctx, f, f.effect.Undo)
}

func (s *play) awaitRecovery(ctx context.Context, f *activeFault) {
	if !errors.Is(f.window.Err, ErrNotHealed) && f.effect.AwaitRecovery != nil {
		f.window.Err = cmp.Or(s.limited(ctx, f, f.effect.AwaitRecovery), f.window.Err)
	}
	f.window.End = s.Now()
	s.done(f.window)
}

// limited runs a healing step of a fault for at most HealLimit. The end of ctx does not stop the step.
func (s *play) limited(ctx context.Context, f *activeFault, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.HealLimit, fmt.Errorf("not healed within %v", s.HealLimit))
	defer cancel()
	_, err := try(func() (Effect, error) { return Effect{}, step(ctx) })
	if errors.Is(err, network.ErrVanished) {
		return fmt.Errorf("%s of %s: %w", f.window.Fault, f.window.Target, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %s of %s: %w", ErrNotHealed, f.window.Fault, f.window.Target, err)
	}
	return nil
}

func (s *play) healAll(ctx context.Context) {
	s.mu.Lock()
	rest := s.active
	s.active = nil
	s.mu.Unlock()
	slices.Reverse(rest)
	for _, f := range rest {
		s.undo(ctx, f)
	}
	for _, f := range rest {
		s.awaitRecovery(ctx, f)
	}
}

func (s *play) done(w Window) {
	s.mu.Lock()
	if w.Err != nil {
		s.errs = append(s.errs, w.Err)
		w.Proof = ""
	}
	s.mu.Unlock()
	s.call(s.Healed, w)
}

func (s *play) call(f func(Window), w Window) {
	if f == nil {
		return
	}
	s.calls.Lock()
	defer s.calls.Unlock()
	f(w)
}

// try calls f and turns a panic into an error, so that the other faults are still healed.
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

type Entry struct {
	Fault Fault
	// On names an event that At counts from; "" is the start of the plan. An entry that is never
	// due is an error.
	On string
	At time.Duration
	// For is the time for which the fault is active; 0: until the plan ends.
	For time.Duration
	// Every is the time from one start of the entry to the next, which waits until the fault has
	// healed; 0 runs the entry once. Times bounds the number of starts; 0: until the plan ends.
	Every time.Duration
	Times int
	// Gaps, if set, replaces Every and Times: the time from the k-th start to the next.
	Gaps []time.Duration
}

// gap returns the time from the n-th start, from 1, to the next, and whether there is a next.
func (e Entry) gap(n int) (time.Duration, bool) {
	if e.Gaps != nil {
		if n > len(e.Gaps) {
			return 0, false
		}
		return e.Gaps[n-1], true
	}
	return e.Every, e.Every != 0 && n != e.Times
}

type Plan struct {
	Entries   []Entry
	Seed      uint64               // decides every random choice of the faults
	Now       func() time.Duration // the run's clock
	Injecting func()
	// Injected, if set, is called for each fault as soon as it is active, and Healed once it is
	// over: healed, failed, or never injected. Calls are serialized.
	Injected, Healed func(Window)
	// Events, if set, triggers the events that entries wait for.
	Events *Events
	// HealLimit bounds each step of healing a fault: undoing it, and recovery; default 2 minutes.
	HealLimit time.Duration
}

// Window is a fault of a plan: its target, and when it was active. Times are on the run's clock.
type Window struct {
	Fault         string
	Target        string
	Client        int           // the client that was hit; -1 for members and for faults without a target
	ServedClients []int         // as in Effect
	Start         time.Duration // call of Inject
	ProvenAt      time.Duration // return of Inject
	HealingAt     time.Duration // begin of healing; if none is needed: ProvenAt
	End           time.Duration // end of healing; if none is needed: ProvenAt
	Proof         string        // empty when Err is set
	Err           error         // why it was not available, had no proven effect, or did not heal; or nil
	// CutShort means that the plan ended during this repetition, which may have injected the fault
	// without proof.
	CutShort bool
}

// Play runs the plan on the target, and returns when every entry has run and has healed.
// When the context ends it starts no further entries and heals the active faults: it undoes all,
// the latest first, and then waits for recovery, which an active fault could prevent. It returns
// the errors of all faults, joined; the end of the context is not an error.
func (p Plan) Play(ctx context.Context, t Target) error {
	s := &play{Plan: p, target: t}
	s.HealLimit = cmp.Or(s.HealLimit, 2*time.Minute)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for i := range p.Entries {
		all.Go(func() { s.entry(ctx, i) })
	}
	played := make(chan struct{})
	go func() { defer close(played); all.Wait() }()
	select {
	case <-played:
	case <-ctx.Done():
		s.healAll(ctx) // at once: a fault may recover only when others are undone
		<-played
	}
	s.healAll(ctx) // faults that were injected in the meantime
	return errors.Join(s.errs...)
}
