// Package network drops and delays the packets of an ensemble's members, in the network namespace of each.
//
//	n, err := network.Open(ctx, ensemble)
//	// ...
//	defer n.Close(context.WithoutCancel(ctx))
//	cut, err := n.Cut(ctx, member, network.Rule{Peers: peers})
//	// ...
//	defer cut.Remove(context.WithoutCancel(ctx))
package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/state"
)

// Network cuts members' networks with packet filters in each member's own network namespace: the
// members keep their addresses and sockets, and receive nothing. It is safe for concurrent use.
type Network struct {
	ensemble *ensembles.Ensemble
	owner    string
	docker   *client.Client // nil if no member is in a container
	members  map[*ensembles.Member]*memberAccess
}

// memberAccess holds the access to one member's network, which the holder of mu replaces when it is outdated.
type memberAccess struct {
	mu      sync.Mutex
	current *access // nil: none yet
}

// access is an open network namespace: the executor changes it.
type access struct {
	executor
	namespace string // a member that was restarted may have a new one
}

type executor interface {
	alive() bool
	do(ctx context.Context, o order) (answer, error)
	close(ctx context.Context) error // heals everything
}

// Open opens the members' networks, so that a later cut takes effect at once: for each member in
// a container it starts an agent. The error wraps ErrSkipped if some member's network cannot be cut.
// Close the Network before the ensemble stops.
func Open(ctx context.Context, e *ensembles.Ensemble) (*Network, error) {
	n := &Network{ensemble: e, owner: state.Self().String(), members: map[*ensembles.Member]*memberAccess{}}
	for _, m := range e.Members {
		n.members[m] = &memberAccess{}
	}
	if slices.ContainsFunc(e.Members, func(m *ensembles.Member) bool { return m.ContainerID != "" }) {
		var err error
		if n.docker, err = container.Docker(ctx); err != nil {
			return nil, fmt.Errorf("%w: connect to Docker: %w", ErrSkipped, err)
		}
	}
	var all errgroup.Group
	for _, m := range e.Members {
		all.Go(func() error { return n.Prepare(ctx, m) })
	}
	if err := all.Wait(); err != nil {
		if !errors.Is(err, ErrSkipped) {
			err = fmt.Errorf("%w: %w", ErrSkipped, err)
		}
		return nil, errors.Join(err, n.Close(context.WithoutCancel(ctx)))
	}
	return n, nil
}

// Close heals every cut and removes the agents. It may be called twice.
func (n *Network) Close(ctx context.Context) error {
	errs := make([]error, len(n.ensemble.Members))
	var all sync.WaitGroup
	for i, m := range n.ensemble.Members {
		all.Go(func() {
			a := n.members[m]
			a.mu.Lock()
			defer a.mu.Unlock()
			errs[i] = a.close(ctx)
		})
	}
	all.Wait()
	if n.docker != nil {
		errs = append(errs, n.docker.Close())
	}
	return errors.Join(errs...)
}

// close closes the access, if any. The caller holds m.mu.
func (m *memberAccess) close(ctx context.Context) error {
	if m.current == nil {
		return nil
	}
	err := m.current.close(ctx)
	if err == nil {
		m.current = nil
	}
	return err
}

// ErrSkipped means that an operation is not available here.
var ErrSkipped = errors.New("skipped")

// ErrNoEffect means that a fault could not be proven.
var ErrNoEffect = errors.New("no proven effect")

// ErrVanished means that a fault in a member's network ended before it was healed, so that the time for
// which it was active is unknown.
var ErrVanished = fmt.Errorf("%w: the fault ended before it was healed", ErrNoEffect)

// checkAccess returns an error that wraps ErrVanished unless the access is to the member's current network.
func (n *Network) checkAccess(ctx context.Context, m *ensembles.Member, a *access) error {
	now, _, err := n.namespace(ctx, m)
	if err == nil && now == a.namespace && a.alive() {
		return nil
	}
	return errors.Join(fmt.Errorf("%w: %s got a new network after the fault was injected, or its network agent ended", ErrVanished, m.Name), err)
}

// Cut is an active rule on one member.
type Cut struct {
	Member *ensembles.Member
	Rule   Rule

	network *Network
	access  *access
	id      int
}

// Cut drops the member's packets by the rule, from before it returns until the cut is removed.
func (n *Network) Cut(ctx context.Context, m *ensembles.Member, r Rule) (*Cut, error) {
	a, err := n.access(ctx, m)
	if err != nil {
		return nil, err
	}
	done, err := a.do(ctx, order{Do: "cut", Rule: r})
	if err != nil {
		return nil, fmt.Errorf("drop packets of %s (%s): %w", m.Name, r, err)
	}
	return &Cut{Member: m, Rule: r, network: n, access: a, id: done.Cut}, nil
}

func (c *Cut) Dropped(ctx context.Context) (uint64, error) {
	a, err := c.access.do(ctx, order{Do: "dropped", Cut: c.id})
	return a.Dropped, err
}

// Remove lets the packets pass again. It may be called twice. The error wraps ErrVanished if the cut had ended.
func (c *Cut) Remove(ctx context.Context) error {
	vanished := c.network.checkAccess(ctx, c.Member, c.access)
	_, err := c.access.do(ctx, order{Do: "heal", Cut: c.id})
	if err == nil {
		return vanished
	}
	// An agent that takes no orders can still be closed, which ends its cuts.
	if end := c.access.close(ctx); end != nil {
		return fmt.Errorf("heal %s: %w", c.Member.Name, errors.Join(err, end))
	}
	return vanished
}

// Delay delays the member's packets until remove, which may be called twice.
func (n *Network) Delay(ctx context.Context, m *ensembles.Member, delay time.Duration) (remove func(context.Context) error, err error) {
	a, err := n.access(ctx, m)
	if err != nil {
		return nil, err
	}
	remove = func(ctx context.Context) error {
		if err := n.checkAccess(ctx, m, a); err != nil {
			return err
		}
		_, err := a.do(ctx, order{Do: "undelay"})
		return err
	}
	_, err = a.do(ctx, order{Do: "delay", Delay: delay})
	return remove, err
}

// CheckDelay returns nil if the members' packets can be delayed. It tests that with a short delay.
func (n *Network) CheckDelay(ctx context.Context) error {
	remove, err := n.Delay(ctx, n.ensemble.Members[0], time.Millisecond)
	if err != nil {
		return err
	}
	return remove(ctx)
}

// Prepare opens the member's current network namespace, so that the next cut takes effect at once.
func (n *Network) Prepare(ctx context.Context, m *ensembles.Member) error {
	_, err := n.access(ctx, m)
	return err
}

func (n *Network) access(ctx context.Context, m *ensembles.Member) (*access, error) {
	known := n.members[m]
	if known == nil {
		return nil, fmt.Errorf("%s is not a member of ensemble %s", m.Name, n.ensemble.ID)
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	namespace, image, err := n.namespace(ctx, m)
	if err != nil {
		return nil, err
	}
	if a := known.current; a != nil && a.namespace == namespace && a.alive() {
		return a, nil
	}
	// The member was started again, or its agent ended.
	if err := known.close(ctx); err != nil {
		return nil, err
	}
	fresh, err := n.open(ctx, m, namespace, image)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSkipped, err)
	}
	known.current = fresh
	return fresh, nil
}

// namespace identifies the member's current network namespace, and its image if it is in a container.
func (n *Network) namespace(ctx context.Context, m *ensembles.Member) (id, image string, err error) {
	switch {
	case m.Cutter != nil:
		return "the commands of " + m.Name, "", nil
	case m.ContainerID != "":
		return inspect(ctx, n.docker, m)
	case m.NetNS != "":
		id, err = inode(m.NetNS)
		if err != nil {
			err = fmt.Errorf("%s: its network namespace no longer exists: %w", m.Name, err)
		}
		return id, "", err
	}
	return "", "", fmt.Errorf("%w: %s does not have a separate network that zkbench can cut: use --ensemble container, or run as root; for an external ensemble, set commands to isolate and heal it", ErrSkipped, m.Name)
}

// open opens the member's namespace, and removes leftovers of crashed runs from it.
func (n *Network) open(ctx context.Context, m *ensembles.Member, namespace, image string) (*access, error) {
	var x executor
	var err error
	switch {
	case m.Cutter != nil:
		return &access{commands{m}, namespace}, nil
	case m.ContainerID != "":
		x, err = n.openContainer(ctx, m, image)
	default:
		x, err = openPath(m)
	}
	if err != nil {
		return nil, err
	}
	// The kernel removes the cuts of a crashed run, but not its delay.
	if _, err := x.do(ctx, order{Do: "undelay"}); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: remove the leftovers of a crashed run: %w", m.Name, err), x.close(ctx))
	}
	return &access{x, namespace}, nil
}
