package scenarios

import (
	"context"
	"sync"
	"time"
)

// holder is the current holder of the trial. It keeps that client from releasing while a fault is
// aimed at it: some milliseconds pass between the choice of a target and the injection, in which a
// holder with a short hold would release.
type holder struct {
	mu     sync.Mutex
	now    int           // number of the holder; -1 for none
	pinned int           // number of the client that must not release; -1 for none
	freed  chan struct{} // closed when it may release
}

func newHolder() *holder { return &holder{now: -1, pinned: -1} }

// hitLimit is the time for which a holder waits for a fault.
const hitLimit = 5 * time.Second

// holds records that client n has the grant.
func (p *holder) holds(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = n
}

// holding returns the holder, or -1.
func (p *holder) holding() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// aimedAt returns the holder, or -1; with stay it keeps it from releasing until free is called.
func (p *holder) aimedAt(stay bool) int {
	if stay {
		return p.aim()
	}
	return p.holding()
}

// aim returns the holder, or -1, and keeps it from releasing until free is called.
func (p *holder) aim() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now >= 0 && p.pinned != p.now {
		p.unpin()
		p.pinned, p.freed = p.now, make(chan struct{})
	}
	return p.now
}

// unpin lets the pinned holder release; mu is held.
func (p *holder) unpin() {
	if p.pinned >= 0 {
		p.pinned = -1
		close(p.freed)
	}
}

// free lets the pinned holder release.
func (p *holder) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unpin()
}

// letGo waits until client n may release; from then on it does not count as the holder.
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
