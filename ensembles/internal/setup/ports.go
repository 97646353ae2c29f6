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

// FreePorts returns n different ports of 127.0.0.1 on which nobody listens. It picks
// them at random, so that ensembles that start at the same time hardly ever pick the same.
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
		defer l.Close() // held until the end, so that none is picked twice
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, fmt.Errorf("no free port on 127.0.0.1 in %d to %d after %d tries", lowestPort, highestPort, tries*n)
	}
	return ports, nil
}
