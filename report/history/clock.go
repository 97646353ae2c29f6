package history

import "time"

// Clock is the one monotonic clock of a trial. Copies show the same time.
type Clock struct{ start time.Time }

// Start returns a clock that shows zero now.
func Start() Clock { return Clock{start: time.Now()} }

// Now returns the time since Start. It never goes back: Go's monotonic reading
// is used, so setting the machine's clock changes nothing.
func (c Clock) Now() time.Duration { return time.Since(c.start) }

// At returns what the clock showed at t, a reading of this process's clock (time.Now).
func (c Clock) At(t time.Time) time.Duration { return t.Sub(c.start) }
