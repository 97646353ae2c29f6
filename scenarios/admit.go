package scenarios

import (
	"net"
	"sync"

	"github.com/zkbench/zkbench/ensembles/state"
)

// ownProcesses returns a function that admits connections of this process and of those below it,
// such as drivers, to the listeners of clients. Any other process on the machine could change a
// verdict there, or reach an ensemble without its own certificate. If the system does not tell whose
// a connection is, it is admitted; a session that belongs to no client then shows in the commits.
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
