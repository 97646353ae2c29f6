package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

// Network cuts members' networks by packet filters inside each member's own
// network namespace: the members keep their addresses and their sockets, and
// simply hear nothing. It is safe for concurrent use.
type Network struct {
	ensemble *ensembles.Ensemble
	owner    string
	docker   *client.Client // nil where no member is in a container
	reaches  map[*ensembles.Member]*reach
}

// NewNetwork prepares everything that takes time, so that a later cut does not:
// for members in containers it starts an agent each. It returns an error that
// wraps ErrSkipped where some member's network is out of our reach.
//
// Close the Network before the ensemble goes down.
func NewNetwork(ctx context.Context, e *ensembles.Ensemble) (*Network, error) {
	n := &Network{ensemble: e, owner: selfOwner(), reaches: map[*ensembles.Member]*reach{}}
	for _, m := range e.Members {
		n.reaches[m] = &reach{}
	}
	if slices.ContainsFunc(e.Members, func(m *ensembles.Member) bool { return m.ContainerID != "" }) {
		// The same search for the daemon as when the members were started.
		docker, err := testcontainers.NewDockerClientWithOpts(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: talk to Docker: %w", ErrSkipped, err)
		}
		n.docker = docker.Client
	}
	var all errgroup.Group
	for _, m := range e.Members {
		all.Go(func() error { _, err := n.hand(ctx, m); return err })
	}
	if err := all.Wait(); err != nil {
		if !errors.Is(err, ErrSkipped) {
			err = fmt.Errorf("%w: %w", ErrSkipped, err)
		}
		return nil, errors.Join(err, n.Close(context.WithoutCancel(ctx)))
	}
	return n, nil
}

// Close heals every cut and removes the agents. It is safe to call twice.
func (n *Network) Close(ctx context.Context) error {
	errs := make([]error, len(n.ensemble.Members))
	var all sync.WaitGroup
	for i, m := range n.ensemble.Members {
		all.Go(func() { errs[i] = n.reaches[m].close(ctx) })
	}
	all.Wait()
	if n.docker != nil {
		errs = append(errs, n.docker.Close())
	}
	return errors.Join(errs...)
}

func (r *reach) close(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hand == nil {
		return nil
	}
	err := r.hand.close(ctx)
	if err == nil {
		r.hand = nil
	}
	return err
}

// Cut is a rule in force on one member.
type Cut struct {
	Member *ensembles.Member
	Rule   Rule
	hand   *hand
	id     int
}

// Cut drops the member's packets as the rule says, from before it returns until
// the cut is healed. Cuts of one member add up: a packet that any of them drops
// is dropped.
func (n *Network) Cut(ctx context.Context, m *ensembles.Member, r Rule) (*Cut, error) {
	h, err := n.hand(ctx, m)
	if err != nil {
		return nil, err
	}
	a, err := h.do(ctx, order{Do: "cut", Rule: r})
	if err != nil {
		return nil, fmt.Errorf("cut %s off (%s): %w", m.Name, r, err)
	}
	return &Cut{Member: m, Rule: r, hand: h, id: a.Cut}, nil
}

// Dropped returns what the cut has dropped so far.
func (c *Cut) Dropped(ctx context.Context) (Dropped, error) {
	a, err := c.hand.do(ctx, order{Do: "dropped", Cut: c.id})
	return a.Dropped, err
}

// slow delays the member's packets; lift ends that, and is safe to call twice.
func (n *Network) slow(ctx context.Context, m *ensembles.Member, delay, jitter time.Duration) (lift func(context.Context) error, err error) {
	h, err := n.hand(ctx, m)
	if err != nil {
		return nil, err
	}
	lift = func(ctx context.Context) error { _, err := h.do(ctx, order{Do: "hasten"}); return err }
	_, err = h.do(ctx, order{Do: "slow", Delay: delay, Jitter: jitter})
	return lift, err
}

// Heal lets the member's packets through again. It is safe to call twice.
func (c *Cut) Heal(ctx context.Context) error {
	_, err := c.hand.do(ctx, order{Do: "heal", Cut: c.id})
	if err == nil {
		return nil
	}
	// An agent that cannot be told can be ended, and what it cuts ends with it.
	if end := c.hand.close(ctx); end != nil {
		return fmt.Errorf("heal %s: %w", c.Member.Name, errors.Join(err, end))
	}
	return nil
}

// reach is the way into one member's network namespace. The lock makes whoever
// finds it outdated the only one who renews it.
type reach struct {
	mu   sync.Mutex
	hand *hand
}

// hand returns the way into the member's present network namespace.
func (n *Network) hand(ctx context.Context, m *ensembles.Member) (*hand, error) {
	r := n.reaches[m]
	if r == nil {
		return nil, fmt.Errorf("%s is not a member of the ensemble %s whose network this is", m.Name, n.ensemble.ID)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	place, image, err := n.place(ctx, m)
	if err != nil {
		return nil, err
	}
	if r.hand != nil && r.hand.place == place && r.hand.alive() {
		return r.hand, nil
	}
	if r.hand != nil { // the member was started again, or the agent died
		if err := r.hand.close(ctx); err != nil {
			return nil, err
		}
		r.hand = nil
	}
	fresh, err := n.open(ctx, m, place, image)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSkipped, err)
	}
	r.hand = fresh
	return fresh, nil
}

// place identifies the member's present network namespace, and its image if it
// is in a container.
func (n *Network) place(ctx context.Context, m *ensembles.Member) (place, image string, err error) {
	switch {
	case m.ContainerID != "":
		return inspect(ctx, n.docker, m)
	case m.NetNS != "":
		place, err = inode(m.NetNS)
		if err != nil {
			err = fmt.Errorf("%s: its network namespace is gone: %w", m.Name, err)
		}
		return place, "", err
	}
	return "", "", fmt.Errorf("%w: %s has no network of its own that we could cut; use --ensemble container, or run as root", ErrSkipped, m.Name)
}

// open opens a hand, and removes what dead runs left in the namespace.
func (n *Network) open(ctx context.Context, m *ensembles.Member, place, image string) (h *hand, err error) {
	if m.ContainerID != "" {
		h, err = n.openContainer(ctx, m, image)
	} else {
		h, err = openPath(m, n.owner)
	}
	if err != nil {
		return nil, err
	}
	h.place = place
	if err := sweep(ctx, h); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: remove what a dead run left: %w", m.Name, err), h.close(ctx))
	}
	return h, nil
}

// sweep removes the cuts of processes that are no more. The kernel does that by
// itself since Linux 5.12.
func sweep(ctx context.Context, h *hand) error {
	a, err := h.do(ctx, order{Do: "owners"})
	inUse := false
	for _, owner := range a.Owners {
		if inUse = inUse || alive(owner); alive(owner) || err != nil {
			continue
		}
		_, err = h.do(ctx, order{Do: "sweep", Owner: owner})
	}
	if err == nil && !inUse {
		_, err = h.do(ctx, order{Do: "hasten"}) // what is delayed now was left behind
	}
	return err
}

// selfOwner is the owner label of this process.
func selfOwner() string {
	self := state.Self()
	return fmt.Sprintf("%d:%s", self.PID, self.Start)
}

// alive says whether the process that an owner label names still runs.
func alive(owner string) bool {
	pid, start, _ := strings.Cut(owner, ":")
	n, err := strconv.Atoi(pid)
	return err == nil && state.Process{PID: n, Start: start}.Alive()
}
