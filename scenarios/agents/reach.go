package agents

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// reachLimit bounds an agent's try to connect to a server.
const reachLimit = 3 * time.Second

// Reaches says which agents cannot connect to which of the servers, host:port.
func (f *Fleet) Reaches(servers []string) error {
	there := f.alive()
	errs := make([]error, len(there))
	var all sync.WaitGroup
	for i, p := range there {
		all.Go(func() { errs[i] = p.call("Reach", servers, &msg.Nothing{}) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Reach tries to connect to servers.
func (v *service) Reach(servers []string, _ *msg.Nothing) error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() {
			conn, err := net.DialTimeout("tcp", server, reachLimit)
			if err != nil {
				errs[i] = fmt.Errorf("does not reach the member at %s: %w", server, err)
				return
			}
			_ = conn.Close()
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
