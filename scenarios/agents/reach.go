package agents

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// reachLimit bounds an agent's attempt to connect to a server.
const reachLimit = 3 * time.Second

// Reaches returns an error that names the agents which cannot connect to some of the servers,
// host:port.
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

// Reach tries to connect to servers. Its error names the servers that do not answer, and the cause for
// the first.
func (v *service) Reach(servers []string, _ *msg.Nothing) error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() {
			conn, err := net.DialTimeout("tcp", server, reachLimit)
			if err == nil {
				err = conn.Close()
			}
			errs[i] = err
		})
	}
	all.Wait()
	var silent []string
	var why error
	for i, err := range errs {
		if err != nil {
			silent, why = append(silent, servers[i]), cmp.Or(why, err)
		}
	}
	if silent == nil {
		return nil
	}
	return fmt.Errorf("does not reach %s at %s: %w", units.Plural(len(silent), "member"), strings.Join(silent, ", "), why)
}
