package scenarios

import (
	"net"
	"sync"

	"github.com/zkbench/zkbench/ensembles/state"
)

// ownProcesses returns a function that admits connections of this process and its descendants, such
// as drivers, to the listeners of clients. Another process could change a verdict there, or reach
// an ensemble without a certificate of its own. If the owner of a connection is unknown, it is
// admitted; a session that belongs to no client then shows in the commits.
func ownProcesses(logf func(format string, args ...any)) func(net.Conn) bool {
	var once sync.Once
	return func(c net.Conn) bool {
		ours, known := state.FromHere(c)
		if known && !ours {
			once.Do(func() {
				logf("refused a connection from %v to a client's listener at %v: no process of this run made it", c.RemoteAddr(), c.LocalAddr())
			})
		}
		return ours || !known
	}
}
