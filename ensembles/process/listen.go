//go:build linux

package process

import (
	"fmt"
	"os"
	"strings"
)

// listens reports whether a TCP socket in the process's network listens on the port. It queries the
// kernel, since a fault may block connections while a member starts.
func listens(pid, port int) bool {
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table)) // a process that has ended listens nowhere
		for line := range strings.Lines(string(text)) {
			// proc_net(5): the second column is the local address, HEX:HEXPORT, the fourth the
			// state, 0A for listening.
			columns := strings.Fields(line)
			if len(columns) > 3 && columns[3] == "0A" && strings.HasSuffix(columns[1], suffix) {
				return true
			}
		}
	}
	return false
}
