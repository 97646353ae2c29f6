// Package setup has the common parts of the kinds of ensemble that zkbench starts.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

// MaxMembers is the largest number of members, which fits into the smallest subnet of an ensemble.
const MaxMembers = 29

// The ports of a member that has its own address.
const (
	ClientPort   = 2181
	QuorumPort   = 2888
	ElectionPort = 3888
)

// New validates the options and returns the record of an ensemble that this process owns. It sets the
// fields that do not depend on the kind.
func New(kind ensembles.Kind, o ensembles.Options) (*state.Record, error) {
	o.Members, o.Tick = cmp.Or(o.Members, 3), cmp.Or(o.Tick, 2*time.Second)
	if o.Members < 0 || o.Observers < 0 || o.Members+o.Observers > MaxMembers {
		return nil, fmt.Errorf("an ensemble cannot have %d members and %d observers: the total must be between 1 and %d", o.Members, o.Observers, MaxMembers)
	}
	if o.Tick < time.Millisecond {
		return nil, fmt.Errorf("a tick of %v is not possible: ZooKeeper requires whole milliseconds", o.Tick)
	}
	for _, word := range o.Secure {
		if !slices.Contains(ensembles.SecurityModes, word) {
			return nil, fmt.Errorf("unknown security %q of an ensemble: choose %s", word, strings.Join(ensembles.SecurityModes, ", "))
		}
	}
	if o.Keep && len(o.Secure) > 0 {
		return nil, errors.New("a persistent ensemble cannot be secured: the certificate and password for its clients exist only in this process")
	}
	r := &state.Record{
		ID: fmt.Sprintf("%08x", rand.Uint32()), Kind: kind, Owner: state.Self(), Keep: o.Keep,
		Created: time.Now(), Tick: o.Tick, FirstZxid: o.FirstZxid, Secure: o.Secure,
	}
	for i := range o.Members + o.Observers {
		r.Members = append(r.Members, state.Member{
			Name: fmt.Sprintf("zk%d", i+1), ID: i + 1, Observer: i >= o.Members,
			Ports: [3]int{ClientPort, QuorumPort, ElectionPort},
		})
	}
	return r, nil
}

// Logf returns o.Logf, or a function that does nothing if it is nil.
func Logf(o ensembles.Options) func(format string, args ...any) {
	if o.Logf != nil {
		return o.Logf
	}
	return func(string, ...any) {}
}

// WaitServing is [ensembles.WaitServing] with a time limit.
func WaitServing(ctx context.Context, e *ensembles.Ensemble, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %v", timeout))
	defer cancel()
	return ensembles.WaitServing(ctx, e)
}

// Version returns the version of the first serving member, or "".
func Version(ctx context.Context, e *ensembles.Ensemble) string {
	for _, s := range ensembles.Status(ctx, e) {
		if s.Serves() {
			return s.Server.Version
		}
	}
	return ""
}

// Once returns a function that calls do until it has succeeded once.
func Once(do func(context.Context) error) func(context.Context) error {
	var mu sync.Mutex
	done := false
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return nil
		}
		err := do(ctx)
		done = err == nil
		return err
	}
}

// Flags returns the JVM flags of the record's members. ZooKeeper's class Leader reads the property.
func Flags(r *state.Record) (flags []string) {
	if r.FirstZxid > 0 {
		flags = append(flags, fmt.Sprintf("-Dzookeeper.testingonly.initialZxid=%d", r.FirstZxid))
	}
	return flags
}

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

// ZooCfg returns the content of m's zoo.cfg: the lines that all kinds of ensemble share, the given
// lines, and the members. everywhere makes the member listen on all addresses; on loopback that would
// expose it to the network.
//
// Peers are listed by address, since a member that starts before its peers' names resolve starts badly.
//
// Thousands of clients may reconnect at once. Beyond the port's backlog, by default 50, the kernel
// drops a client's first packet, and the client waits a second or more.
func ZooCfg(r *state.Record, m state.Member, everywhere bool, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tickTime=%d\n", r.Tick.Milliseconds())
	b.WriteString(`initLimit=10
syncLimit=5
maxClientCnxns=0
clientPortListenBacklog=4096
standaloneEnabled=false
admin.enableServer=false
4lw.commands.whitelist=*
`)
	fmt.Fprintf(&b, "quorumListenOnAllIPs=%v\n", everywhere)
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	if m.Observer {
		b.WriteString("peerType=observer\n")
	}
	for _, m := range r.Members {
		client := fmt.Sprintf(";%d", m.Ports[0])
		if !everywhere {
			client = fmt.Sprintf(";%s:%d", m.IP, m.Ports[0])
		}
		if slices.Contains(r.Secure, "tls") {
			client = "" // no port without TLS
		}
		role := ""
		if m.Observer {
			role = ":observer"
		}
		fmt.Fprintf(&b, "server.%d=%s:%d:%d%s%s\n", m.ID, m.IP, m.Ports[1], m.Ports[2], role, client)
	}
	return b.String()
}
