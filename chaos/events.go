package chaos

import (
	"context"
	"sync"
)

// Events are named moments of a trial that a plan can wait for: "steady", "first grant". The zero
// value is ready for use; a nil *Events never fires.
type Events struct {
	mu    sync.Mutex
	fired map[string]chan struct{}
}

// Fire fires the event. Only the first time counts.
func (e *Events) Fire(name string) {
	c := e.channel(name)
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

func (e *Events) wait(ctx context.Context, name string) bool {
	if name == "" {
		return true
	}
	var c chan struct{} // nil: never ready
	if e != nil {
		c = e.channel(name)
	}
	select {
	case <-ctx.Done():
		return false
	case <-c:
		return true
	}
}

func (e *Events) channel(name string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fired == nil {
		e.fired = map[string]chan struct{}{}
	}
	if e.fired[name] == nil {
		e.fired[name] = make(chan struct{})
	}
	return e.fired[name]
}
