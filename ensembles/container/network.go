package container

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/zkbench/zkbench/ensembles/internal/setup"
)

// networkTries is the maximum number of attempts if others take the offered subnet in the meantime.
const networkTries = 8

// firstHost leaves room for the gateway before the members' addresses.
const firstHost = 10

// makeNetwork creates the ensemble's network and assigns the members' addresses. Docker allows fixed
// addresses only in an explicit subnet, and only Docker knows the free subnets. makeNetwork therefore
// creates a network to learn a free subnet, removes it, and creates it again with this subnet.
func (p *ensemble) makeNetwork(ctx context.Context) error {
	for range networkTries {
		subnet, err := p.findSubnet(ctx)
		if err != nil {
			return err
		}
		_, err = p.createNetwork(ctx, subnet)
		if taken(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("creating the network %s in %v: %w", p.network, subnet, err)
		}
		return p.giveAddresses(subnet)
	}
	return fmt.Errorf("creating the network %s: the subnets that Docker offered were already in use, in each of %d attempts; "+
		"remove unused networks (zkbench ensemble down, docker network prune)", p.network, networkTries)
}

func (p *ensemble) findSubnet(ctx context.Context) (netip.Prefix, error) {
	id, err := p.createNetwork(ctx, netip.Prefix{})
	if err != nil {
		if strings.Contains(err.Error(), "non-overlapping") || strings.Contains(err.Error(), "fully subnetted") {
			err = fmt.Errorf("no subnet is free: remove unused networks (zkbench ensemble down, docker network prune): %w", err)
		}
		return netip.Prefix{}, fmt.Errorf("creating the network %s: %w", p.network, err)
	}
	reply, err := p.docker.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
	if _, failed := p.docker.NetworkRemove(context.WithoutCancel(ctx), id, client.NetworkRemoveOptions{}); failed != nil {
		err = errors.Join(err, failed)
	}
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("finding a free subnet: %w", err)
	}
	for _, c := range reply.Network.IPAM.Config {
		if c.Subnet.Addr().Is4() {
			return c.Subnet, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("finding a free subnet: Docker assigned no IPv4 subnet to the network %s", p.network)
}

func (p *ensemble) createNetwork(ctx context.Context, subnet netip.Prefix) (id string, err error) {
	o := client.NetworkCreateOptions{Driver: "bridge", Labels: labels(p.Record)}
	if subnet.IsValid() {
		o.IPAM = &network.IPAM{Config: []network.IPAMConfig{{Subnet: subnet, Gateway: subnet.Addr().Next()}}}
	}
	// Cancellation is ignored, for the same reason as in runMembers.
	reply, err := p.docker.NetworkCreate(context.WithoutCancel(ctx), p.network, o)
	return reply.ID, err
}

// taken reports whether err means that a network's subnet is in use.
func taken(err error) bool {
	if err == nil {
		return false
	}
	return errdefs.IsConflict(err) || strings.Contains(err.Error(), "overlap") || strings.Contains(err.Error(), "conflicts with network")
}

func (p *ensemble) giveAddresses(subnet netip.Prefix) error {
	if room := 1<<(32-subnet.Bits()) - firstHost - 1; room < len(p.Members) {
		return fmt.Errorf("the subnet %v that Docker offers is too small for %d members; configure larger default-address-pools for the daemon", subnet, len(p.Members))
	}
	ip := subnet.Masked().Addr()
	for range firstHost {
		ip = ip.Next()
	}
	for i := range p.Members {
		p.Members[i].IP = ip.String()
		ip = ip.Next()
	}
	if p.direct {
		return nil
	}
	return p.givePorts()
}

// givePorts assigns a free port of this machine to each member. Docker would choose a different port
// at each start.
func (p *ensemble) givePorts() error {
	ports, err := setup.FreePorts(len(p.Members))
	for i, port := range ports {
		p.Members[i].Published = port
	}
	return err
}
