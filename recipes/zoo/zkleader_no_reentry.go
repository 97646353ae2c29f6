package zoo

import (
	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
)

// The ZkLeader of a tutorial clears its leader flag when it is disconnected, and sets it only when
// the children of the parent change. After a short loss of the connection its node is still first
// in line, all others wait behind it, and there is no leader.
func init() {
	contestant("zkleader-no-reentry", "steps down when the connection drops for a moment, and never leads again", steps{
		wait: awaitParent,
		state: func(l *line, s zk.State) {
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
}
