package ensembles

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"
)

// Disk makes the disk of a member's transaction log slow, or lets it fail. The zero value is a disk without a fault.
type Disk struct {
	mu     sync.Mutex
	delay  time.Duration
	healed chan struct{} // of the active fault; nil if there is none
	hits   int
	least  time.Duration
}

// Break makes each fsync of the log take delay longer, or, if delay is 0, makes all its writes and fsyncs fail
// with EIO, until heal is called, which may be called twice. Break fails while another fault is active.
func (d *Disk) Break(delay time.Duration) (heal func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.healed != nil {
		return nil, errors.New("another fault of its disk is active")
	}
	healed := make(chan struct{})
	d.delay, d.healed, d.hits, d.least = delay, healed, 0, 0
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.healed = nil
		close(healed)
	}), nil
}

// Hits returns how many fsyncs the last fault has delayed, or how many writes and fsyncs have failed, and the
// shortest delay.
func (d *Disk) Hits() (n int, least time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hits, d.least
}

// Access has the effect of the active fault on a write to the log, or on an fsync. It returns 0, EIO, or
// EINTR if the context ends first.
func (d *Disk) Access(ctx context.Context, fsync bool) syscall.Errno {
	d.mu.Lock()
	delay, healed := d.delay, d.healed
	d.mu.Unlock()
	if healed == nil || delay > 0 && !fsync {
		return 0
	}
	begin := time.Now()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-healed:
			return 0
		case <-ctx.Done(): // the process is being killed, for instance
			return syscall.EINTR
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if took := time.Since(begin); d.healed == healed {
		if d.hits++; d.hits == 1 || took < d.least {
			d.least = took
		}
	}
	if delay > 0 {
		return 0
	}
	return syscall.EIO
}
