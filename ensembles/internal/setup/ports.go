package setup

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are below Linux's range for outgoing connections (32768 and up): a port in that range could be
// in use when its member restarts.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// FreePorts returns n different free ports of 127.0.0.1. They are random, so that ensembles that start
// at the same time rarely choose the same ports.
func FreePorts(n int) ([]int, error) {
	const tries = 100
	var ports []int
	for range tries * n {
		if len(ports) == n {
			break
		}
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer l.Close() // open until the end, so that no port is chosen twice
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, fmt.Errorf("no free port on 127.0.0.1 from %d to %d, after %d tries", lowestPort, highestPort, tries*n)
	}
	return ports, nil
}
