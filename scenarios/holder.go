package scenarios

import (
	"context"
	"sync"
	"time"
)

// holder is who holds now. It keeps that client in place while a fault is being aimed at it. Between the
// choice of a victim and the hit some milliseconds pass, in which a holder with a
// short hold would have let go: the fault would hit a client that no longer holds.
type holder struct {
	mu     sync.Mutex
	now    int           // number of the client that holds now; -1
	pinned int           // number of the client that must not let go; -1
	freed  chan struct{} // closed when it may
}

func newHolder() *holder { return &holder{now: -1, pinned: -1} }

// hitLimit is how long a holder waits to be hit.
const hitLimit = 5 * time.Second

// holds says that client n has the grant.
func (p *holder) holds(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = n
}

// holding returns the client that holds, or -1.
func (p *holder) holding() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// aimedAt returns the client that holds, or -1; with stay it holds until freed.
func (p *holder) aimedAt(stay bool) int {
	if stay {
		return p.aim()
	}
	return p.holding()
}

// aim returns the client that holds, or -1, and has it hold until freed.
func (p *holder) aim() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now >= 0 && p.pinned != p.now {
		p.unpin() // whoever was aimed at before does not hold any more
		p.pinned, p.freed = p.now, make(chan struct{})
	}
	return p.now
}

// unpin lets the pinned holder go; mu is held.
func (p *holder) unpin() {
	if p.pinned >= 0 {
		p.pinned = -1
		close(p.freed)
	}
}

// free lets the pinned holder go.
func (p *holder) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unpin()
}

// letGo returns when client n may release; from then on it does not count as the holder.
func (p *holder) letGo(ctx context.Context, n int) {
	ctx, cancel := context.WithTimeout(ctx, hitLimit)
	defer cancel()
	for {
		p.mu.Lock()
		if p.pinned != n || ctx.Err() != nil {
			if p.now == n {
				p.now = -1
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
