package setup

import (
	"net"
	"strconv"
	"testing"
)

func TestFreePorts_areFreeAndDifferent(t *testing.T) {
	ports, err := FreePorts(20)
	if err != nil || len(ports) != 20 {
		t.Fatalf("got %v, %v", ports, err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] || port < lowestPort || port >= highestPort {
			t.Errorf("port %d is there twice or out of range", port)
		}
		seen[port] = true
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Errorf("port %d is taken: %v", port, err)
			continue
		}
		l.Close()
	}
}
