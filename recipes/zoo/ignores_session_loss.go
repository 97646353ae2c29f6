package zoo

import "github.com/go-zookeeper/zk"

// ZooKeeper's LeaderElectionSupport, and kazoo's Election.run, do not notify their leader of the
// loss of the session. It continues to lead, next to its successor.
func init() {
	contestant("ignores-session-loss", "keeps the grant after its session has expired", steps{
		state: func(*line, zk.State) {},
		spans: true,
	})
}
