package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// Limits of partitions.
const (
	// silence is how long a member must not answer that answered in half of it before.
	silence = 60 * time.Millisecond
	// dropLimit bounds the wait for the first dropped packet: ZooKeeper's members
	// speak to each other at least once a tick.
	dropLimit = 10 * time.Second
	// returnLimit bounds the wait for a healed member to serve again. Members try
	// to reach a lost one at growing intervals, up to a minute.
	returnLimit = 90 * time.Second
)

const needsNetwork = "members in containers, or in network namespaces of their own (root)"

// partition is a set of cuts that make one fault.
type partition struct {
	network *Network
	mu      sync.Mutex
	cuts    []*Cut
}

var errNoNetwork = fmt.Errorf("%w: nobody here can cut members' networks; use --ensemble container, or run as root", ErrSkipped)

// incision is a cut to be made.
type incision struct {
	victim
	rule Rule
}

// impose makes all cuts, or none.
func impose(ctx context.Context, t Target, list []incision) (*partition, error) {
	if t.Network == nil {
		return nil, errNoNetwork
	}
	p := &partition{network: t.Network}
	for _, i := range list {
		c, err := t.Network.Cut(ctx, i.Member, i.rule)
		if err != nil {
			return nil, errors.Join(err, p.lift(context.WithoutCancel(ctx)))
		}
		p.cuts = append(p.cuts, c)
	}
	return p, nil
}

// lift removes all cuts, the last one first.
func (p *partition) lift(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for i := len(p.cuts) - 1; i >= 0; i-- {
		errs = append(errs, p.cuts[i].Heal(ctx))
	}
	return errors.Join(errs...)
}

// prove calls proof, and lifts the partition if that fails: by an error, an ended
// context or a panic.
func (p *partition) prove(ctx context.Context, proof func() (string, error)) (text string, err error) {
	proven := false
	defer func() {
		if proven {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
		defer cancel()
		if left := p.lift(ctx); left != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", ErrNotHealed, left))
		}
	}()
	text, err = proof()
	proven = err == nil
	return text, err
}

// back waits until every member that was cut serves again.
func (p *partition) back(ctx context.Context) error {
	for _, c := range p.cuts {
		if err := serves(ctx, c.Member); err != nil {
			return err
		}
	}
	return nil
}

// dropped waits until every cut has dropped a packet, and returns their sum.
func (p *partition) dropped(ctx context.Context) (sum Dropped, err error) {
	err = poll(ctx, dropLimit, func(ctx context.Context) error {
		sum = Dropped{}
		for _, c := range p.cuts {
			d, err := c.Dropped(ctx)
			if err != nil {
				return err
			}
			if d.Packets == 0 {
				return fmt.Errorf("%w: nothing was dropped at %s (%s)", ErrNoEffect, c.Member.Name, c.Rule)
			}
			sum.Packets += d.Packets
			sum.Bytes += d.Bytes
		}
		return nil
	})
	return sum, err
}

// sever makes cuts among the members, and proves each by what it drops.
func sever(ctx context.Context, f Fault, t Target, list []incision) (Effect, error) {
	p, err := impose(ctx, t, list)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	served := servedBy(t, list)
	proof, err := p.prove(ctx, func() (string, error) {
		d, err := p.dropped(ctx)
		return fmt.Sprintf("%d packets among the members were dropped", d.Packets), err
	})
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return Effect{Target: names(list), Client: -1, Served: served, Proof: proof, Undo: p.lift, Back: p.back}, nil
}

// servedBy returns the clients that have their session on one of the members.
func servedBy(t Target, list []incision) (clients []int) {
	for _, c := range t.Clients {
		on := c.Session().Server
		if slices.ContainsFunc(list, func(i incision) bool { return i.Addr == on }) {
			clients = append(clients, c.Number())
		}
	}
	return clients
}

// muffle makes a cut that keeps a member from us, and proves it by its silence and
// by what it drops.
func muffle(ctx context.Context, t Target, v victim, r Rule) (Effect, *partition, error) {
	if t.Network == nil {
		return Effect{}, nil, errNoNetwork
	}
	if err := speaks(ctx, v.Member); err != nil {
		return Effect{}, nil, err
	}
	p, err := impose(ctx, t, []incision{{v, r}})
	if err != nil {
		return Effect{}, nil, err
	}
	proof, err := p.prove(ctx, func() (string, error) {
		if err := silent(ctx, v.Member); err != nil {
			return "", err
		}
		d, err := p.dropped(ctx)
		return fmt.Sprintf("%s answered srvr before, and not for %v after; %d packets dropped by then", v.Name, silence, d.Packets), err
	})
	if err != nil {
		return Effect{}, nil, err
	}
	return Effect{Target: v.String(), Client: -1, Proof: proof, Undo: p.lift, Back: p.back}, p, nil
}

// fromPeers aims a rule at the packets between a member and its peers.
func fromPeers(ctx context.Context, t Target, who string, r Rule) ([]incision, error) {
	v, err := pickMember(ctx, t, who)
	if err != nil {
		return nil, err
	}
	if r.Peers, err = peers(t.Ensemble, v.Member); err != nil {
		return nil, err
	}
	if len(r.Peers) == 0 {
		return nil, fmt.Errorf("%w: %s has no peers", ErrSkipped, v.Name)
	}
	return []incision{{v, r}}, nil
}

// reachable asks the member for srvr from outside. Any answer counts, also that
// it is without a quorum.
func reachable(ctx context.Context, m *ensembles.Member, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := ensembles.FourLetter(ctx, m.Addr, "srvr")
	return err == nil && answer != ""
}

// silent proves that a member, which answered before, does not answer any more.
func silent(ctx context.Context, m *ensembles.Member) error {
	if reachable(ctx, m, silence) {
		return fmt.Errorf("%w: %s still answers srvr", ErrNoEffect, m.Name)
	}
	return context.Cause(ctx)
}

// speaks makes sure that a member answers, quickly, before it is cut off: or its
// silence would prove nothing.
func speaks(ctx context.Context, m *ensembles.Member) error {
	err := poll(ctx, memberLimit, func(ctx context.Context) error {
		begin := time.Now()
		if !reachable(ctx, m, silence) || time.Since(begin) > silence/2 {
			return fmt.Errorf("%s did not answer srvr within %v", m.Name, silence/2)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: its silence after the cut would prove nothing: %w", ErrNoEffect, err)
	}
	return nil
}

// serves waits until the member is part of a quorum again.
func serves(ctx context.Context, m *ensembles.Member) error {
	alone := &ensembles.Ensemble{Members: []*ensembles.Member{m}}
	err := poll(ctx, returnLimit, func(ctx context.Context) error {
		return ensembles.Status(ctx, alone)[0].Err
	})
	if err != nil {
		return fmt.Errorf("%s does not serve again: %w", m.Name, err)
	}
	return nil
}

// peers returns the addresses of the other members.
func peers(e *ensembles.Ensemble, m *ensembles.Member) ([]netip.Addr, error) {
	var others []*ensembles.Member
	for _, o := range e.Members {
		if o != m {
			others = append(others, o)
		}
	}
	return ips(others)
}

func ips(members []*ensembles.Member) ([]netip.Addr, error) {
	out := make([]netip.Addr, len(members))
	for i, m := range members {
		a, err := netip.ParseAddr(m.IP)
		if err != nil {
			return nil, fmt.Errorf("%s: its address %q: %w", m.Name, m.IP, err)
		}
		out[i] = a
	}
	return out, nil
}

func names(list []incision) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return strings.Join(out, ", ")
}
