//go:build linux

package process

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// listens reports whether a TCP socket in the network of this process listens on
// the port. It asks the kernel, not the network: a member may be started while
// a fault keeps everybody from reaching it.
func listens(pid, port int) bool {
	const listening = 0x0A                                // TCP_LISTEN
	fs, err := procfs.NewFS(fmt.Sprintf("/proc/%d", pid)) // whose net is that of its namespace
	if err != nil {
		return false
	}
	v4, _ := fs.NetTCP() // what cannot be read does not listen yet
	v6, _ := fs.NetTCP6()
	for _, socket := range append(v4, v6...) {
		if socket.St == listening && socket.LocalPort == uint64(port) {
			return true
		}
	}
	return false
}
