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

// dropLimit bounds the wait for the first dropped packet: ZooKeeper's members speak to
// each other at least once a tick.
const dropLimit = 10 * time.Second

// partition is a set of cuts that make one fault.
type partition struct {
	mu   sync.Mutex // one removal at a time
	cuts []*cut
}

var errNoNetwork = fmt.Errorf("%w: nobody here can cut members' networks; use --ensemble container, or run as root", ErrSkipped)

// memberRule is a rule for one member's packets.
type memberRule struct {
	victim
	rule packetRule
}

// newPartition puts all rules in force, or none.
func newPartition(ctx context.Context, t Target, list []memberRule) (*partition, error) {
	if t.Network == nil {
		return nil, errNoNetwork
	}
	p := &partition{}
	for _, r := range list {
		c, err := t.Network.cut(ctx, r.Member, r.rule)
		if err != nil {
			return nil, errors.Join(err, p.remove(context.WithoutCancel(ctx)))
		}
		p.cuts = append(p.cuts, c)
	}
	return p, nil
}

// remove removes all cuts, the last one first.
func (p *partition) remove(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, c := range slices.Backward(p.cuts) {
		errs = append(errs, c.remove(ctx))
	}
	return errors.Join(errs...)
}

// prove calls proof, and removes the partition when that fails, as act does.
func (p *partition) prove(ctx context.Context, proof func() (string, error)) (text string, err error) {
	err = act(ctx, nil, func() (err error) { text, err = proof(); return err }, p.remove)
	return text, err
}

// back waits until every member that was cut serves again.
func (p *partition) back(ctx context.Context) error {
	for _, c := range p.cuts {
		if err := serves(ctx, c.member); err != nil {
			return err
		}
	}
	return nil
}

// dropped waits until every cut has dropped a packet, and returns their sum.
func (p *partition) dropped(ctx context.Context) (sum uint64, err error) {
	err = poll(ctx, dropLimit, func(ctx context.Context) error {
		sum = 0
		for _, c := range p.cuts {
			d, err := c.dropped(ctx)
			if err != nil {
				return err
			}
			if d == 0 {
				return fmt.Errorf("%w: nothing was dropped at %s (%s)", ErrNoEffect, c.member.Name, c.rule)
			}
			sum += d
		}
		return nil
	})
	return sum, err
}

// cutPeers makes cuts among the members, and proves each by what it drops.
func cutPeers(ctx context.Context, t Target, list []memberRule) (Effect, error) {
	p, err := newPartition(ctx, t, list)
	if err != nil {
		return Effect{}, err
	}
	served := servedBy(t, list)
	proof, err := p.prove(ctx, func() (string, error) {
		d, err := p.dropped(ctx)
		return fmt.Sprintf("%d packets among the members were dropped", d), err
	})
	if err != nil {
		return Effect{}, err
	}
	return Effect{Target: names(list), Client: -1, Served: served, Proof: proof, Undo: p.remove, Back: p.back}, nil
}

// servedBy returns the clients that have their session on one of the members.
func servedBy(t Target, list []memberRule) (clients []int) {
	for _, c := range t.Clients {
		on := c.Session().Server
		if slices.ContainsFunc(list, func(i memberRule) bool { return i.Addr == on }) {
			clients = append(clients, c.Number())
		}
	}
	return clients
}

// cutOff makes a cut that keeps a member from us, and proves it by the member's
// silence and by what the cut drops.
func cutOff(ctx context.Context, t Target, v victim, r packetRule) (Effect, *partition, error) {
	if t.Network == nil {
		return Effect{}, nil, errNoNetwork
	}
	if err := speaks(ctx, v.Member); err != nil {
		return Effect{}, nil, err
	}
	p, err := newPartition(ctx, t, []memberRule{{v, r}})
	if err != nil {
		return Effect{}, nil, err
	}
	proof, err := p.prove(ctx, func() (string, error) {
		if err := silent(ctx, v.Member); err != nil {
			return "", err
		}
		d, err := p.dropped(ctx)
		return fmt.Sprintf("%s answered srvr before, and not for %v after; %d packets dropped by then", v.Name, silence, d), err
	})
	if err != nil {
		return Effect{}, nil, err
	}
	return Effect{Target: v.String(), Client: -1, Proof: proof, Undo: p.remove, Back: p.back}, p, nil
}

// fromPeers makes r a rule for the packets between a member and its peers.
func fromPeers(ctx context.Context, t Target, who string, r packetRule) ([]memberRule, error) {
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
	return []memberRule{{v, r}}, nil
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

func names(list []memberRule) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return strings.Join(out, ", ")
}
