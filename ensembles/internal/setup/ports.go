package setup

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below the range that Linux gives to outgoing connections
// (32768 and up): from there, one could be gone when its member is down.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// FreePorts returns n different ports of 127.0.0.1 on which nobody listens.
func FreePorts(n int) ([]int, error) {
	var ports []int
	taken := map[int]bool{}
	for len(ports) < n {
		port, err := freePort(taken)
		if err != nil {
			return nil, err
		}
		taken[port] = true
		ports = append(ports, port)
	}
	return ports, nil
}

// freePort picks a port at random, so that ensembles that start at the same time
// hardly ever pick the same.
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
