//go:build linux

package process

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/zkbench/zkbench/ensembles/state"
)

// probe proves that this host and every member reach every member.
func probe(ctx context.Context, r *state.Record) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for _, m := range r.Members {
		to := m.Addr() // which no member has opened yet
		listener, err := listenIn(m.NetNS, to)
		if err != nil {
			return fmt.Errorf("probing the network of %s: %w", m.Name, err)
		}
		defer listener.Close()
		if err := dialIn(ctx, "", to); err != nil {
			return fmt.Errorf("this host does not reach %s (does a firewall drop it?): %w", m.Name, err)
		}
		for _, from := range r.Members {
			if err := dialIn(ctx, from.NetNS, to); err != nil {
				return fmt.Errorf("%s does not reach %s: %w", from.Name, m.Name, err)
			}
		}
	}
	return nil
}

func listenIn(path, address string) (l net.Listener, err error) {
	err = inNetNS(path, func() error {
		l, err = net.Listen("tcp4", address)
		return err
	})
	return l, err
}

func dialIn(ctx context.Context, path, address string) error {
	return inNetNS(path, func() error {
		// One address and no name: the socket is made on this thread, in its namespace.
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
}
