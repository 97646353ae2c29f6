package agents

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
)

// Reach implements Engine. Without a configured address it listens on the address from which this
// machine sends to the hosts. If that differs between hosts, it listens on all addresses, and each
// host dials its own.
func (s *ssh) Reach(ctx context.Context) (listen, host string, err error) {
	at, port := "", "0"
	if s.Listen != "" {
		if at, port, err = net.SplitHostPort(s.Listen); err != nil {
			return "", "", fmt.Errorf("%s: want HOST:PORT to listen on for agents: %w", s.Listen, err)
		}
		if !everywhere(at) {
			return s.Listen, "", nil
		}
	}
	if s.ways, err = s.findWays(ctx); err != nil {
		return "", "", err
	}
	if s.Listen == "" {
		at = s.ways[s.hosts[0]]
		for _, way := range s.ways {
			if way != at {
				at = ""
				break
			}
		}
	}
	return net.JoinHostPort(at, port), "", nil
}

// address returns the address that a host dials for a listener.
func (s *ssh) address(host, listener string) string {
	way, known := s.ways[host]
	_, port, err := net.SplitHostPort(listener)
	if !known || err != nil {
		return listener
	}
	return net.JoinHostPort(way, port)
}

func (s *ssh) findWays(ctx context.Context) (map[string]string, error) {
	ways := map[string]string{}
	var errs []error
	for _, host := range s.hosts {
		way, err := s.findWay(ctx, host)
		if err != nil {
			err = fmt.Errorf("host %s: %w; say with --agents-listen HOST:PORT by which address of this machine the hosts reach it", host, err)
		}
		ways[host], errs = way, append(errs, err)
	}
	return ways, errors.Join(errs...)
}

// findWay returns the address from which this machine sends to a host: the kernel chooses one when
// a UDP socket is connected, without a packet.
func (s *ssh) findWay(ctx context.Context, host string) (string, error) {
	c, err := s.config(ctx, host)
	if err != nil {
		return "", err
	}
	for _, key := range []string{"proxyjump", "proxycommand"} {
		if c[key] != "" && c[key] != "none" {
			return "", fmt.Errorf("ssh goes there by a way of its own (%s %s)", key, c[key])
		}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(c["hostname"], c["port"]))
	if err != nil {
		return "", fmt.Errorf("no way leads there from here: %w", err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String(), nil
}

// config returns ssh's options for a host, by name in lower case.
func (s *ssh) config(ctx context.Context, host string) (map[string]string, error) {
	args := append(s.words[1:len(s.words):len(s.words)], "-G", "--", host)
	out, err := exec.CommandContext(ctx, s.words[0], args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return nil, fmt.Errorf("ssh -G, which reads ssh's own configuration: %w", err)
	}
	return parseConfig(string(out)), nil
}

// parseConfig parses the output of ssh -G, one option per line.
func parseConfig(text string) map[string]string {
	c := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, known := c[key]; !known {
			c[key] = value
		}
	}
	return c
}
