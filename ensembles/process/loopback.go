//go:build linux

package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"github.com/zkbench/zkbench/ensembles/state"
)

// Ports are taken from below the range that Linux hands to outgoing connections
// (32768 and up): from there, one could be gone when its member is down.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// planLoopback gives all members 127.0.0.1 and ports that are free now.
func planLoopback(r *state.Record) error {
	taken := map[int]bool{}
	for i := range r.Members {
		r.Members[i].IP = "127.0.0.1"
		for j := range r.Members[i].Ports {
			port, err := freePort(taken)
			if err != nil {
				return err
			}
			taken[port] = true
			r.Members[i].Ports[j] = port
		}
	}
	return nil
}

// freePort picks a port on which nobody listens, at random, so that ensembles
// that start at the same time hardly ever pick the same.
func freePort(taken map[int]bool) (int, error) {
	const tries = 100
	for range tries {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if taken[port] {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 in %d to %d after %d tries", lowestPort, highestPort, tries)
}
