package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
)

// dropLimit bounds the wait for the first dropped packet: members exchange messages at least once per tick.
const dropLimit = 10 * time.Second

type partition struct {
	mu   sync.Mutex
	cuts []*network.Cut
}

var errNoNetwork = fmt.Errorf("%w: members' networks cannot be cut here; use --ensemble container, or run as root (zkbench doctor shows the reason)", ErrSkipped)

type memberRule struct {
	targetMember
	rule network.Rule
}

// newPartition applies all rules and proves them. On an error it removes the rules that it has applied.
func newPartition(ctx context.Context, t Target, list []memberRule, proof func(*partition) (string, error)) (e Effect, err error) {
	if t.Network == nil {
		return e, errNoNetwork
	}
	p := &partition{}
	e = Effect{Target: names(list), Client: -1, Undo: p.remove, AwaitRecovery: p.awaitRecovery}
	return e.inject(ctx, func(ctx context.Context) error {
		for _, r := range list {
			c, err := t.Network.Cut(ctx, r.Member, r.rule)
			if err != nil {
				return err
			}
			p.cuts = append(p.cuts, c)
		}
		return nil
	}, func() (string, error) { return proof(p) })
}

func (p *partition) remove(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, c := range slices.Backward(p.cuts) {
		errs = append(errs, c.Remove(ctx))
	}
	return joinHealErrors(errs)
}

// joinHealErrors leaves out network.ErrVanished if there are others: they mean that a fault may still be active.
func joinHealErrors(all []error) error {
	active := slices.DeleteFunc(slices.Clone(all), func(err error) bool { return errors.Is(err, network.ErrVanished) })
	return cmp.Or(errors.Join(active...), errors.Join(all...))
}

func (p *partition) awaitRecovery(ctx context.Context) error {
	for _, c := range p.cuts {
		if err := awaitServing(ctx, c.Member); err != nil {
			return err
		}
	}
	return nil
}

// dropped waits until every cut has dropped a packet. traffic, if not nil, makes a member receive or send packets.
func (p *partition) dropped(ctx context.Context, traffic func(*ensembles.Member)) (sum uint64, err error) {
	err = poll(ctx, dropLimit, func(ctx context.Context) error {
		sum = 0
		for _, c := range p.cuts {
			if traffic != nil {
				traffic(c.Member)
			}
			d, err := c.Dropped(ctx)
			if err != nil {
				return err
			}
			if d == 0 {
				return fmt.Errorf("%w: no packet was dropped at %s (%s)", ErrNoEffect, c.Member.Name, c.Rule)
			}
			sum += d
		}
		return nil
	})
	return sum, err
}

// cutPeers cuts connections between members. It proves a cut by dropped packets or, if commands make the
// cut, by the members' modes. Of several cuts, it proves the cuts that separate a member from the leader.
func cutPeers(ctx context.Context, t Target, list []memberRule) (Effect, error) {
	proven, err := fromLeader(ctx, t, list)
	if err != nil {
		return Effect{}, err
	}
	var served []int
	was := modes(ctx, proven)
	e, err := newPartition(ctx, t, list, func(p *partition) (string, error) {
		served = servedBy(t, list)
		if p.commanded() {
			return awaitModeChange(ctx, proven, was)
		}
		d, err := p.restrictTo(proven).dropped(ctx, nil)
		return fmt.Sprintf("%d packets between members were dropped", d), err
	})
	e.ServedClients = served
	return e, err
}

// fromLeader returns the cuts that separate a member from the leader, which sends to all members
// constantly. Followers may not communicate with each other before an election.
func fromLeader(ctx context.Context, t Target, list []memberRule) ([]memberRule, error) {
	if len(list) == 1 {
		return list, nil
	}
	leader, err := pickMember(ctx, t, Leader)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(r memberRule) bool { return r.Member == leader.Member }); i >= 0 {
		return list[i : i+1], nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(r memberRule) bool {
		return !slices.ContainsFunc(r.rule.Peers, func(a netip.Addr) bool { return a.String() == leader.IP })
	}), nil
}

func (p *partition) restrictTo(list []memberRule) *partition {
	return &partition{cuts: slices.DeleteFunc(slices.Clone(p.cuts), func(c *network.Cut) bool {
		return !slices.ContainsFunc(list, func(r memberRule) bool { return r.Member == c.Member })
	})}
}

func servedBy(t Target, list []memberRule) (clients []int) {
	for _, c := range t.Clients {
		on := c.Session().Server
		if slices.ContainsFunc(list, func(i memberRule) bool { return i.Addr == on }) {
			clients = append(clients, c.Number())
		}
	}
	return clients
}

// cutOff cuts a member off from this process, and proves it by the member's silence and by dropped packets.
func cutOff(ctx context.Context, t Target, v targetMember, r network.Rule) (Effect, error) {
	if t.Network == nil {
		return Effect{}, errNoNetwork
	}
	if err := awaitResponsive(ctx, v.Member); err != nil {
		return Effect{}, err
	}
	var conn net.Conn // from before the cut: commands that only block new connections do not affect it
	if v.Cutter != nil {
		var err error
		if conn, err = v.Connect(ctx); err != nil {
			return Effect{}, err
		}
		defer conn.Close()
	}
	return newPartition(ctx, t, []memberRule{{v, r}}, func(p *partition) (string, error) {
		if err := checkSilent(ctx, v.Member); err != nil {
			return "", err
		}
		if p.commanded() {
			return fmt.Sprintf("%s answered srvr before the cut, and did not answer for %v after it, on new and existing connections", v.Name, silenceOf(v.Member)), silentOn(ctx, v.Member, conn)
		}
		d, err := p.dropped(ctx, nil)
		return fmt.Sprintf("%s answered srvr before the cut, and did not answer for %v after it; %d packets were dropped", v.Name, silenceOf(v.Member), d), err
	})
}

func peerCut(r network.Rule) memberFault {
	return func(ctx context.Context, t Target, v targetMember) (Effect, error) {
		peers, err := ips(others(t.Ensemble, v.Member))
		if err != nil {
			return Effect{}, err
		}
		if len(peers) == 0 {
			return Effect{}, fmt.Errorf("%w: %s is the only member, so it does not have any peers", ErrSkipped, v.Name)
		}
		list := []memberRule{{v, r}}
		list[0].rule.Peers = peers
		return cutPeers(ctx, t, list)
	}
}

func others(e *ensembles.Ensemble, m *ensembles.Member) []*ensembles.Member {
	return slices.DeleteFunc(slices.Clone(e.Members), func(o *ensembles.Member) bool { return o == m })
}

func ips(members []*ensembles.Member) ([]netip.Addr, error) {
	out := make([]netip.Addr, len(members))
	for i, m := range members {
		a, err := netip.ParseAddr(m.IP)
		if err != nil {
			return nil, fmt.Errorf("%s: IP address %q: %w", m.Name, m.IP, err)
		}
		out[i] = a
	}
	return out, nil
}

func names(list []memberRule) string {
	return strings.Join(texts(list, memberRule.String), ", ")
}

// partition.peers leaves clients connected to a server without a quorum.
var _ = register(Kind{
	Name:     "partition.peers",
	About:    "cuts a member off from its peers; clients can still reach it",
	Proof:    "packets between it and its peers are dropped",
	needs:    []need{needsPeers, {about: "2 members or more"}},
	onMember: fixed(peerCut(network.Rule{})),
})

var _ = register(Kind{
	Name:   "partition.oneway",
	About:  "drops one direction of the traffic between a member and its peers; clients can still reach it",
	Proof:  "its peers' packets, or its own, are dropped",
	Params: []Param{{"direction", "in", "in: the member receives nothing from its peers; out: they receive nothing from it"}},
	needs:  []need{needsOneWay, {about: "2 members or more"}},
	onMember: func(s settings) memberFault {
		return peerCut(network.Rule{Direction: s.choice("direction", network.In, network.Out)})
	},
})

var _ = register(Kind{
	Name:     "partition.isolate",
	About:    "cuts a member off from its peers, its clients and zkbench",
	Proof:    "its packets are dropped, and it answered srvr before the cut but not after it",
	needs:    []need{needsNetwork},
	onMember: fixed(isolate),
})

func isolate(ctx context.Context, t Target, v targetMember) (Effect, error) {
	return cutOff(ctx, t, v, network.Rule{})
}

// partition.clients does not affect the traffic between members: clients must connect to another member.
var _ = register(Kind{
	Name:  "partition.clients",
	About: "cuts a member off from all clients; its peers can still reach it",
	Proof: "clients' packets are dropped, and the member answered srvr before the cut but not after it",
	needs: []need{needsExcept},
	onMember: fixed(func(ctx context.Context, t Target, v targetMember) (Effect, error) {
		spared, err := ips(others(t.Ensemble, v.Member))
		if err != nil {
			return Effect{}, err
		}
		return cutOff(ctx, t, v, network.Rule{Except: spared})
	}),
})

var _ = register(Kind{
	Name:  "partition.leader",
	About: "isolates the leader, until the other members have elected a new one",
	Proof: "its packets are dropped, and another member is the leader",
	needs: []need{needsNetwork, {about: "3 members"}},
	build: func(string, settings) injector { return partitionLeader },
})

func partitionLeader(ctx context.Context, t Target) (Effect, error) {
	if n := len(t.Ensemble.Voting()); n < 3 {
		return Effect{}, fmt.Errorf("%w: with %d voting members, the others are not a majority and cannot elect a leader: use 3", ErrSkipped, n)
	}
	return memberInjector(Leader, func(ctx context.Context, t Target, v targetMember) (Effect, error) {
		e, err := isolate(ctx, t, v)
		if err != nil {
			return e, err
		}
		return e.inject(ctx, nil, func() (string, error) {
			next, err := awaitNewLeader(ctx, t.Ensemble, v.Member)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%s; %s is the leader now", e.Proof, next.Name), nil
		})
	})(ctx, t)
}

func awaitNewLeader(ctx context.Context, e *ensembles.Ensemble, old *ensembles.Member) (next *ensembles.Member, err error) {
	rest := &ensembles.Ensemble{Members: others(e, old)}
	err = poll(ctx, returnLimit, func(ctx context.Context) (err error) {
		next, err = ensembles.Leader(ctx, rest)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: no other member became leader", ErrNoEffect), err)
	}
	return next, nil
}
