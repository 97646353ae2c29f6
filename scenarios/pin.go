package scenarios

import (
	"context"
	"sync"
	"time"
)

// pin keeps a holder in place while a fault is being aimed at it. Between the
// choice of a victim and the strike some milliseconds pass, in which a holder with a
// short hold would have let go: the fault would hit a client that no longer holds.
type pin struct {
	mu     sync.Mutex
	holder int           // number of the client that holds now; -1
	pinned int           // number of the client that must not let go; -1
	freed  chan struct{} // closed when it may
}

func newPin() *pin { return &pin{holder: -1, pinned: -1} }

// pinLimit is how long a holder waits to be hit.
const pinLimit = 5 * time.Second

// holds says that client n has the grant.
func (p *pin) holds(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holder = n
}

// aim returns the client that holds, or -1, and has it hold until freed.
func (p *pin) aim() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holder >= 0 && p.pinned != p.holder {
		p.unpin() // whoever was aimed at before does not hold any more
		p.pinned, p.freed = p.holder, make(chan struct{})
	}
	return p.holder
}

// unpin lets the pinned holder go; mu is held.
func (p *pin) unpin() {
	if p.pinned >= 0 {
		p.pinned = -1
		close(p.freed)
	}
}

// free lets the pinned holder go.
func (p *pin) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unpin()
}

// letGo returns when client n may release; from then on it does not count as the holder.
func (p *pin) letGo(ctx context.Context, n int) {
	ctx, cancel := context.WithTimeout(ctx, pinLimit)
	defer cancel()
	for {
		p.mu.Lock()
		if p.pinned != n || ctx.Err() != nil {
			if p.holder == n {
				p.holder = -1
			}
			p.mu.Unlock()
			return
		}
		freed := p.freed
		p.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
	}
}
