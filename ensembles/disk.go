package ensembles

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Disk makes the disk of a member's transaction log slow, or lets it fail. The zero value does neither.
type Disk struct{ fault atomic.Pointer[diskFault] }

type diskFault struct {
	delay  time.Duration // 0: fsyncs fail
	hits   atomic.Int64
	healed chan struct{}
}

// Break makes each fsync take delay longer, or fail with EIO if delay is 0, until heal is called, which may be called
// twice. hits returns the number of delayed or failed fsyncs.
func (d *Disk) Break(delay time.Duration) (heal func(), hits func() int64, err error) {
	f := &diskFault{delay: delay, healed: make(chan struct{})}
	if !d.fault.CompareAndSwap(nil, f) {
		return nil, nil, errors.New("another fault of its disk is active")
	}
	return sync.OnceFunc(func() { d.fault.Store(nil); close(f.healed) }), f.hits.Load, nil
}

// Sync has the effect of the active fault on an fsync. It returns 0, EIO, or EINTR if the context ends first.
func (d *Disk) Sync(ctx context.Context) syscall.Errno {
	f := d.fault.Load()
	if f == nil {
		return 0
	}
	select {
	case <-time.After(f.delay):
	case <-f.healed:
		return 0
	case <-ctx.Done():
		return syscall.EINTR
	}
	f.hits.Add(1)
	if f.delay > 0 {
		return 0
	}
	return syscall.EIO
}
