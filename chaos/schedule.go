package chaos

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Entry is a line of a plan: a fault and its time.
type Entry struct {
	Fault Fault
	// On names an event that At counts from; "" is the start of the play. An entry that is never
	// due is an error.
	On string
	At time.Duration
	// For is the time for which the fault is active; 0: until the play ends.
	For time.Duration
	// Every is the time from one start of the entry to the next, which waits until the fault has
	// healed; 0 runs it once. Times bounds the number of repetitions; 0: until the plan ends.
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

// Plan is the faults of a trial and their times.
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
	Fault   string
	Target  string
	Client  int           // the client that was hit; -1 for members and for faults without a target
	Served  []int         // as in Effect
	Start   time.Duration // call of Inject
	Proven  time.Duration // return of Inject
	Healing time.Duration // begin of healing; if none is needed: Proven
	End     time.Duration // end of healing; if none is needed: Proven
	Proof   string        // empty when Err is set
	Err     error         // it was not available, had no proven effect, or did not heal
	// CutShort means that the play ended during this repetition: it may have been injected, without
	// proof.
	CutShort bool
}

const healLimit = 2 * time.Minute

// Play runs the plan on the target, and returns when every entry has run and has healed.
// When the context ends it starts no further entries and heals the active faults: it undoes all,
// the latest first, and then waits for recovery, which an active fault could prevent. It returns
// the errors of all faults, joined; the end of the context is not an error.
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
		s.healAll(ctx) // at once: a fault that is healing may wait for that
		<-played
	}
	s.healAll(ctx) // injected in the meantime
	return errors.Join(s.errs...)
}
