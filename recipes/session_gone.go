package recipes

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// AwaitGone returns when the member that serves the session has removed the node at
// path; at once, if there is none. It is for observers: whoever waits for a turn must
// look at the whole line.
func (s *Session) AwaitGone(ctx context.Context, path string) error {
	for {
		stat, watch, err := s.exists(ctx, path, true)
		if err != nil || stat == nil {
			return err
		}
		e, err := s.wake(ctx, watch)
		if err != nil || e.Type == zk.EventNodeDeleted {
			return err
		}
	}
}
