package scenarios

import (
	"context"
	"sync"
	"time"
)

// removal watches a node at every member, and knows when the first of them removed it.
type removal struct {
	stop func()

	mu sync.Mutex
	at time.Duration // 0: not seen
}

// watchRemoval begins to watch, with a watch at each member: polling would be a load of
// its own. A member that is killed meanwhile tells nothing: the others do.
func (o *observer) watchRemoval(ctx context.Context, path string, now func() time.Duration) *removal {
	ctx, cancel := context.WithCancel(ctx)
	r := &removal{}
	var all sync.WaitGroup
	r.stop = func() { cancel(); all.Wait() }
	for i := range o.sessions {
		all.Go(func() {
			s, err := o.member(ctx, i)
			if err != nil || s.AwaitGone(ctx, path) != nil {
				return
			}
			at := now()
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.at == 0 || at < r.at {
				r.at = at
			}
		})
	}
	return r
}

// seen returns when the first member removed the node; 0 where none was seen to.
func (r *removal) seen() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}
