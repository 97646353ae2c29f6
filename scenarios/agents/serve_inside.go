package agents

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// inside serves a subject that is compiled in within the agent's own process, as zkbench run does
// without agents: a separate process would cost each request the way through a listener.
func (s *server) inside(name string) (site.Process, error) {
	subject, err := recipes.Find(name)
	if err != nil {
		return nil, err
	}
	return site.Inside(func(ctx context.Context, in io.Reader, out io.Writer) error {
		return driver.ServeOver(ctx, subject, s.dial, in, out)
	}).Start()
}

// dial connects a client in this process. It was given the address of a listener for the server;
// dial uses the tap behind it directly.
func (s *server) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	s.mu.Lock()
	trials := slices.Collect(maps.Values(s.trials))
	s.mu.Unlock()
	for _, t := range trials {
		t.mu.Lock()
		dial := t.behind[addr]
		t.mu.Unlock()
		if dial != nil {
			return dial(network, addr, timeout)
		}
	}
	return nil, fmt.Errorf("%s: %w", addr, wire.ErrClosed)
}
