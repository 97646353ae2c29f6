package scenarios

import (
	"fmt"
	"slices"
)

// otherFiles is the approximate number of files that zkbench has open in addition to its clients'
// connections, and a member in addition to its clients' connections: histories, logs, sessions of the
// harness, a JVM's jars.
const otherFiles = 400

// enoughFiles returns an error if the largest number of clients needs more open files than this
// process may have. A member needs at most as many: in the worst case all clients are connected to
// one.
func (s *Scenario) enoughFiles(most int) error {
	if len(s.Clients) == 0 {
		return nil
	}
	clients := slices.Max(s.Clients)
	if need := clients + otherFiles; need > most {
		return fmt.Errorf("%d clients need %d open files, one each and some more, and this process may have no more than %d: "+
			"raise its hard limit (as root ulimit -n %d; LimitNOFILE=%d of a systemd unit; --ulimit nofile=%d of a container), or take fewer clients (--clients)",
			clients, need, most, need, need, need)
	}
	return nil
}
