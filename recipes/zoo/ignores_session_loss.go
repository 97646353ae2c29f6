package zoo

import "github.com/go-zookeeper/zk"

// ZooKeeper's LeaderElectionSupport, and kazoo's Election.run, do not notify
// their leader that the session is gone. It leads on, beside the next one.
func init() {
	contestant("ignores-session-loss", "keeps the grant after its session has expired", steps{
		state: func(*line, zk.State) {},
		spans: true,
	})
}
