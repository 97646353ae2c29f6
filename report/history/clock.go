package history

import "time"

// Clock is the monotonic clock of a trial. Copies show the same time.
type Clock struct{ start time.Time }

func Start() Clock { return Clock{start: time.Now()} }

// Now returns the time since Start. It uses Go's monotonic clock, so setting the machine's clock
// has no effect.
func (c Clock) Now() time.Duration { return time.Since(c.start) }

// At converts t, a reading of this process's clock, to the trial's clock.
func (c Clock) At(t time.Time) time.Duration { return t.Sub(c.start) }
