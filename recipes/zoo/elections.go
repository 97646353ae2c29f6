package zoo

import (
	"context"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

func init() {
	// The ZkLeader of a tutorial clears its leader flag when it is disconnected, and sets it only when
	// the children of the parent change. After a short loss of the connection its node is still first
	// in line, all others wait behind it, and there is no leader.
	registerLock("zkleader-no-reentry", "steps down when the connection drops briefly, and never leads again", steps{
		wait: awaitParent,
		state: func(l *lockClient, s zk.State) {
			if s != zk.StateDisconnected && s != zk.StateExpired {
				return
			}
			l.mu.Lock()
			token := l.token
			l.token = 0
			l.mu.Unlock()
			if token != 0 {
				l.env.Events(recipes.Event{Kind: recipes.EventSuspended, Token: token})
			}
		},
	})

	// The original ZkLeader of the tutorial checks whether it leads whenever the parent's children change, even
	// as the leader. So it leads again after a short loss of the connection, but only once another node is
	// added or removed. Until then its node is first in line, and there is no leader.
	registerLock("zkleader-late-reentry", "resigns when the connection drops briefly, and leads again only when a candidate joins or leaves", steps{
		wait: awaitParent,
		state: func(l *lockClient, s zk.State) {
			l.mu.Lock()
			token, path := l.token, l.path
			l.mu.Unlock()
			switch {
			case token == 0:
			case s == zk.StateDisconnected:
				l.env.Events(recipes.Event{Kind: recipes.EventSuspended, Token: token})
				go l.reenter(token, path)
			case s == zk.StateExpired:
				l.drop()
				l.env.Events(recipes.Event{Kind: recipes.EventLost, Token: token})
			}
		},
	})
}

// reenter reports the grant as restored when the children change and the node at path is the lowest.
func (l *lockClient) reenter(token int64, path string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*l.env.Timeout)
	defer cancel()
	for first := true; ; first = false {
		w, err := l.c.watchChildren(ctx, l.env.Parent)
		if err != nil {
			return
		}
		leads, _ := l.steps.order(w.names, client.Base(path))
		l.mu.Lock()
		ours := l.token == token
		l.mu.Unlock()
		switch {
		case !ours:
			return
		case leads && !first:
			l.env.Events(recipes.Event{Kind: recipes.EventRestored, Token: token})
			return
		}
		if w.wait(ctx) != nil {
			return
		}
	}
}
