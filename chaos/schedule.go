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

// Entry is one line of a plan: a fault, and when.
type Entry struct {
	Fault Fault
	// On names an event that At counts from; "" is the start of the play. An entry
	// whose time never comes is an error.
	On string
	At time.Duration
	// For is how long the fault is in force; 0: until the play ends.
	For time.Duration
	// Every repeats the entry that long after its last start, though not before that
	// has healed. Every 0 plays it once. Times bounds how often it is played; 0:
	// until the play ends.
	Every time.Duration
	Times int
	// Gaps, if set, takes the place of Every and Times: how long after its k-th start
	// the entry is played again.
	Gaps []time.Duration
}

// gap returns how long after its n-th start, from 1, the entry is played again, and
// whether it is.
func (e Entry) gap(n int) (time.Duration, bool) {
	if e.Gaps != nil {
		if n > len(e.Gaps) {
			return 0, false
		}
		return e.Gaps[n-1], true
	}
	return e.Every, e.Every != 0 && n != e.Times
}

// Plan is what goes wrong in a trial, and when.
type Plan struct {
	Entries []Entry
	Seed    uint64               // decides every random choice of every fault
	Now     func() time.Duration // the run's clock
	// Striking, if set, is told that a fault is about to be injected. It must return at
	// once: what is aimed at moves on.
	Striking func()
	// Played is told of each fault once it has healed, one call at a time.
	Played func(Played)
	// Injected, if set, is told of each fault as soon as it is in force.
	Injected func(Played)
	// Events, if set, fires the events that entries wait for.
	Events *Events
	// HealLimit bounds each step of healing a fault: undoing it, and the wait for what
	// it hit; default 2 minutes.
	HealLimit time.Duration
}

// Played is one fault that was played. Times are on the run's clock.
type Played struct {
	Fault  string
	Target string
	Client int           // the client that was hit; -1 for members and for faults that hit nobody
	Served []int         // the clients that a member went on serving which was hit (Effect)
	Start  time.Duration // the call to Inject
	Proven time.Duration // Inject returned
	Mended time.Duration // healing began; of a fault that needs no healing: Proven
	End    time.Duration // healed; of a fault that needs no healing: Proven
	Proof  string        // empty when Err is set
	Err    error         // it could not be had, had no proven effect, or did not heal
}

const healLimit = 2 * time.Minute

// Play plays the plan on the target, and returns when every entry has been played
// and has healed. When the context ends it starts nothing more and heals what is
// in force, under a context that does not end with it: all faults are undone, the
// latest first, and only then does it wait for what they hit to come back, which a
// fault that is still in force could keep away. It returns the errors of all faults,
// joined; a context that ends is none.
func (p Plan) Play(ctx context.Context, t Target) error {
	s := &play{Plan: p, target: t}
	if s.HealLimit == 0 {
		s.HealLimit = healLimit
	}
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
		s.unwind(ctx) // at once: a fault that heals now may wait for that
		<-played
	}
	s.unwind(ctx) // what was injected meanwhile
	return errors.Join(s.errs...)
}

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

// Events are named moments of a trial that a plan can wait for: "steady", "first
// grant". The zero value is ready for use; a nil *Events never fires.
type Events struct {
	mu    sync.Mutex
	fired map[string]chan struct{}
}

// Fire says that the event has happened. Only the first time counts.
func (e *Events) Fire(name string) {
	c := e.channel(name)
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

// wait waits for the event, and reports whether it came before the context ended.
func (e *Events) wait(ctx context.Context, name string) bool {
	if name == "" {
		return true
	}
	var c chan struct{} // nil: never
	if e != nil {
		c = e.channel(name)
	}
	select {
	case <-ctx.Done():
		return false
	case <-c:
		return true
	}
}

func (e *Events) channel(name string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fired == nil {
		e.fired = map[string]chan struct{}{}
	}
	if e.fired[name] == nil {
		e.fired[name] = make(chan struct{})
	}
	return e.fired[name]
}
