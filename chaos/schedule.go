package chaos

import (
	"context"
	"errors"
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
	// Injecting, if set, is called before a fault is injected. It must return at once:
	// the target moves on.
	Injecting func()
	// Injected, if set, is called for each fault as soon as it is in force, and Healed
	// once it is over: healed, failed, or never injected. They are called one at a time.
	Injected, Healed func(Window)
	// Events, if set, fires the events that entries wait for.
	Events *Events
	// HealLimit bounds each step of healing a fault: undoing it, and the wait for what
	// it hit; default 2 minutes.
	HealLimit time.Duration
}

// Window is one fault of a plan: what it hit and when it was in force. Times are on the
// run's clock.
type Window struct {
	Fault   string
	Target  string
	Client  int           // the client that was hit; -1 for members and for faults that hit nobody
	Served  []int         // as in Effect
	Start   time.Duration // the call to Inject
	Proven  time.Duration // Inject returned
	Healing time.Duration // healing began; of a fault that needs no healing: Proven
	End     time.Duration // healed; of a fault that needs no healing: Proven
	Proof   string        // empty when Err is set
	Err     error         // it could not be had, had no proven effect, or did not heal
	// CutShort says that it is a repetition which the end of the play overtook: it may have
	// struck, and nothing proves it.
	CutShort bool
}

const healLimit = 2 * time.Minute

// Play plays the plan on the target, and returns when every entry has been played
// and has healed. When the context ends it starts nothing more and heals what is
// in force, under a context that does not end with it: it undoes all faults, the
// latest first, and then waits until what they hit is back, which a fault in force
// could prevent. It returns the errors of all faults, joined; a context that ends is
// none.
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
		s.healAll(ctx) // at once: what heals now may wait for that
		<-played
	}
	s.healAll(ctx) // what was injected meanwhile
	return errors.Join(s.errs...)
}
