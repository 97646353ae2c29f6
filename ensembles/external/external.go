// Package external uses an ensemble that zkbench did not start. Its members are controlled only by
// commands, which a file lists for each member.
//
//	o, err := external.Load("ensemble.yaml") // or ensembles.Options{Servers: ...}
//	...
//	e, err := external.Start(ctx, o)
package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
)

const defaultChroot = "/zkbench"

const askTimeout = 5 * time.Second

// Check validates addresses, chroot and number of members, without connecting.
func Check(o ensembles.Options) error {
	_, _, err := read(o)
	return err
}

func read(o ensembles.Options) (members []*ensembles.Member, chroot string, err error) {
	if members, err = parse(o.Servers); err != nil {
		return nil, "", err
	}
	if chroot, err = checkChroot(o.Chroot); err != nil {
		return nil, "", err
	}
	if o.Members != 0 && o.Members != len(members) {
		return nil, "", fmt.Errorf("--members is %d, but --servers lists %d: list one server for each member, or omit --members", o.Members, len(members))
	}
	return members, chroot, nil
}

// Start checks the addresses, queries every member for its status, and returns the ensemble. A member
// that refuses srvr counts as a voting member; the error names all unusable members. Down does
// nothing.
func Start(ctx context.Context, o ensembles.Options) (*ensembles.Ensemble, error) {
	members, chroot, err := read(o)
	if err != nil {
		return nil, err
	}
	applyConfig(members, o.External)
	servers, err := askAll(ctx, members)
	if err != nil {
		return nil, err
	}
	var versions []string
	for i, m := range members {
		m.Observer = servers[i].Mode == ensembles.ModeObserver
		versions = append(versions, servers[i].Version)
	}
	slices.Sort(versions)
	version := strings.Join(slices.Compact(slices.DeleteFunc(versions, func(v string) bool { return v == "" })), ", ")
	e := &ensembles.Ensemble{
		ID:       "external",
		Kind:     ensembles.External,
		About:    about(version, o.Servers),
		Version:  version,
		Tick:     o.Tick,
		Chroot:   chroot,
		Members:  members,
		Security: o.External.Security,
		Down:     func(context.Context) error { return nil },
	}
	if o.Logf != nil {
		o.Logf("%s; zkbench's znodes are below %s", e.About, chroot)
	}
	return e, nil
}

func about(version string, servers []string) string {
	if version == "" {
		version = "of unknown version (the members do not answer srvr: 4lw.commands.whitelist)"
	}
	return fmt.Sprintf("external ensemble %s, ZooKeeper %s", strings.Join(servers, ","), version)
}

func parse(servers []string) ([]*ensembles.Member, error) {
	if len(servers) == 0 {
		return nil, errors.New("an external ensemble needs --servers host:port[,host:port]")
	}
	var members []*ensembles.Member
	for i, server := range servers {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			return nil, fmt.Errorf("--servers %q: %w (write host:port, for example 192.0.2.1:2181; set a chroot with --chroot)", server, err)
		}
		if i := strings.IndexByte(port, '/'); i >= 0 {
			return nil, fmt.Errorf("--servers %q: set the path with --chroot: --servers %s --chroot %s", server, net.JoinHostPort(host, port[:i]), port[i:])
		}
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("--servers %q: %q is not a port (1 to 65535)", server, port)
		}
		if host == "" {
			return nil, fmt.Errorf("--servers %q: the host is missing", server)
		}
		if slices.Contains(servers[:i], server) {
			return nil, fmt.Errorf("--servers: %q is listed twice", server)
		}
		members = append(members, &ensembles.Member{Name: fmt.Sprintf("zk%d", i+1), ID: i + 1, Addr: server, IP: host})
	}
	return members, nil
}

func applyConfig(members []*ensembles.Member, t ensembles.ExternalConfig) {
	for i, m := range members {
		m.External = true
		if t.Security.TLS != nil {
			m.Dial = t.Security.Dial
		}
		if i >= len(t.Commands) {
			continue
		}
		c := t.Commands[i]
		m.Name, m.IP = cmp.Or(c.Name, m.Name), cmp.Or(c.Address, m.IP)
		if !c.Any() {
			continue
		}
		machine := &commandMachine{member: m, commands: c}
		m.Machine = machine
		if c.Isolate != nil {
			m.Cutter = machine
		}
	}
}

// checkChroot returns the chroot to use. The root of an external tree must not be used.
func checkChroot(chroot string) (string, error) {
	if chroot == "" {
		return defaultChroot, nil
	}
	if chroot == "/" || !strings.HasPrefix(chroot, "/") || path.Clean(chroot) != chroot {
		return "", fmt.Errorf("chroot %q: give an absolute path below the root, such as %s", chroot, defaultChroot)
	}
	return chroot, nil
}

// askAll returns every member's status. Its error names each unusable member: while one member is
// down, the others may be electing a leader.
func askAll(ctx context.Context, members []*ensembles.Member) ([]ensembles.Server, error) {
	servers, errs := make([]ensembles.Server, len(members)), make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { servers[i], errs[i] = ask(ctx, m) })
	}
	all.Wait()
	return servers, errors.Join(errs...)
}

func ask(ctx context.Context, m *ensembles.Member) (ensembles.Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer in %v", askTimeout))
	defer cancel()
	server, err := ensembles.Ask(ctx, m)
	if errors.Is(err, ensembles.ErrNotWhitelisted) || errors.Is(err, ensembles.ErrEmptyReply) && checkSession(ctx, m) == nil {
		return ensembles.Server{}, nil
	}
	if err != nil {
		return ensembles.Server{}, fmt.Errorf("a member cannot be used: %w (is the member up and reachable from here, and is this its client port?)", err)
	}
	return server, nil
}

// checkSession checks a member that does not report its status, by opening and closing a session.
func checkSession(ctx context.Context, m *ensembles.Member) error {
	conn, events, err := zk.Connect([]string{m.Addr}, askTimeout,
		zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false),
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return m.Connect(ctx) }))
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return nil
			}
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s did not accept a session", m.Addr), context.Cause(ctx))
		}
	}
}
