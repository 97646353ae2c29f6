//go:build linux

package process

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// listens reports whether a TCP socket in the network of this process listens on
// the port. It asks the kernel, not the network: a member may be started while
// a fault keeps everybody from reaching it.
func listens(pid, port int) bool {
	for _, table := range []string{"tcp", "tcp6"} {
		if tableListens(fmt.Sprintf("/proc/%d/net/%s", pid, table), port) {
			return true
		}
	}
	return false
}

// tableListens looks through a table described in proc_net(5): the second column
// is the local address, HEX:HEXPORT, the fourth the state, 0A for listening.
func tableListens(name string, port int) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	suffix := fmt.Sprintf(":%04X", port)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		columns := strings.Fields(lines.Text())
		if len(columns) > 3 && columns[3] == "0A" && strings.HasSuffix(columns[1], suffix) {
			return true
		}
	}
	return false
}
