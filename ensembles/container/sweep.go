package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

// removeInterval is how often Docker is asked whether the rest is gone.
const removeInterval = 50 * time.Millisecond

// found is what Docker holds of one ensemble.
type found struct {
	id         string
	labels     map[string]string
	containers []container.Summary // the members'
	agents     []container.Summary // helpers that package chaos put into members' networks
	networks   []string            // ids
}

// find returns everything of ours in Docker, by ensemble; with an id, only that one's.
func find(ctx context.Context, docker *client.Client, id string) ([]*found, error) {
	filters := make(client.Filters).Add("label", labelOurs+"=1")
	if id != "" {
		filters.Add("label", labelEnsemble+"="+id)
	}
	containers, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return nil, fmt.Errorf("listing the containers of ours: %w", err)
	}
	networks, err := docker.NetworkList(ctx, client.NetworkListOptions{Filters: filters})
	if err != nil {
		return nil, fmt.Errorf("listing the networks of ours: %w", err)
	}
	byID := map[string]*found{}
	at := func(labels map[string]string) *found {
		id := labels[labelEnsemble]
		if byID[id] == nil {
			byID[id] = &found{id: id, labels: labels}
		}
		return byID[id]
	}
	// Networks first: their labels are those of the ensemble's owner.
	for _, n := range networks.Items {
		f := at(n.Labels)
		f.networks = append(f.networks, n.ID)
	}
	slices.SortFunc(containers.Items, func(a, b container.Summary) int { // members before agents
		return cmp.Compare(b.Labels[labelMember], a.Labels[labelMember])
	})
	for _, c := range containers.Items {
		f := at(c.Labels)
		if c.Labels[labelMember] != "" {
			f.containers = append(f.containers, c)
		} else {
			f.agents = append(f.agents, c)
		}
	}
	all := make([]*found, 0, len(byID))
	for _, f := range byID {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *found) int { return cmp.Compare(a.id, b.id) })
	return all, nil
}

func (f *found) keep() bool { return f.labels[labelKeep] == "true" }

// used tells whether a living process owns the ensemble, or an agent in it: one
// that somebody has attached to.
func (f *found) used() bool {
	return ownerAlive(f.labels) || slices.ContainsFunc(f.agents, func(c container.Summary) bool { return ownerAlive(c.Labels) })
}

// plan reads back the plan by which the ensemble was made.
func (f *found) plan() (*plan, error) {
	p := &plan{id: f.id, keep: f.keep(), owner: parseOwner(f.labels[labelOwner])}
	var err error
	if p.tick, err = time.ParseDuration(f.labels[labelTick]); err != nil {
		return nil, fmt.Errorf("ensemble %s has a bad label %s: %w", f.id, labelTick, err)
	}
	if p.created, err = time.Parse(time.RFC3339, f.labels[labelCreated]); err != nil {
		return nil, fmt.Errorf("ensemble %s has a bad label %s: %w", f.id, labelCreated, err)
	}
	for _, c := range f.containers {
		m, err := parseMember(c.Labels, c.ID)
		if err != nil {
			return nil, fmt.Errorf("ensemble %s: %w", f.id, err)
		}
		p.image = c.Image
		p.members = append(p.members, m)
	}
	slices.SortFunc(p.members, func(a, b member) int { return cmp.Compare(a.id, b.id) })
	return p, nil
}

// List returns the ensembles of containers that exist on this machine, running or
// not, with the addresses at which clients reach their members.
func List(ctx context.Context) ([]state.Record, error) {
	docker, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	defer docker.Close()
	all, err := find(ctx, docker, "")
	if err != nil {
		return nil, err
	}
	var records []state.Record
	var errs []error
	for _, f := range all {
		p, err := f.plan()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		records = append(records, p.record())
	}
	return records, errors.Join(errs...)
}

// record is the plan in the words of the state registry.
func (p *plan) record() state.Record {
	r := state.Record{
		ID: p.id, Kind: ensembles.Container, Owner: p.owner, Keep: p.keep,
		Created: p.created, About: p.image, Tick: p.tick,
	}
	for _, m := range p.members {
		host, port, _ := net.SplitHostPort(m.addr())
		n, _ := strconv.Atoi(port)
		r.Members = append(r.Members, state.Member{
			Name: m.name, ID: m.id, IP: host, Ports: [3]int{n, quorumPort, electionPort},
		})
	}
	return r
}

// Attach returns a kept ensemble that another process has started, with the same
// power over its members. Its Down only lets go.
func Attach(ctx context.Context, id string) (*ensembles.Ensemble, error) {
	docker, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	e, err := attach(ctx, docker, id)
	if err != nil {
		return nil, errors.Join(err, docker.Close())
	}
	e.Down = func(context.Context) error { return docker.Close() }
	return e, nil
}

func attach(ctx context.Context, docker *client.Client, id string) (*ensembles.Ensemble, error) {
	if id == "" {
		return nil, errors.New("attaching to an ensemble needs its id (zkbench ensemble status lists them)")
	}
	all, err := find(ctx, docker, id)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 || len(all[0].containers) == 0 {
		return nil, fmt.Errorf("no containers of an ensemble %s on this machine (zkbench ensemble status lists them)", id)
	}
	p, err := all[0].plan()
	if err != nil {
		return nil, err
	}
	if !p.keep {
		return nil, fmt.Errorf("ensemble %s belongs to process %d and ends with it", id, p.owner.PID)
	}
	e := p.assemble(docker)
	e.Version = version(ctx, e)
	e.About = about(p.image, e)
	return e, nil
}

// Sweep removes the containers and networks of ensembles whose owner is dead. Kept
// ones are spared, unless all is set. Those that a living process owns, or has
// put an agent in, are never touched. It returns one line for each ensemble removed.
func Sweep(ctx context.Context, all bool) (removed []string, err error) {
	docker, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	defer docker.Close()
	ours, err := find(ctx, docker, "")
	if err != nil {
		return nil, err
	}
	return sweep(ctx, docker, ours, all)
}

func sweep(ctx context.Context, docker *client.Client, ours []*found, all bool) (removed []string, err error) {
	var errs []error
	for _, f := range ours {
		if f.id == "" || f.used() { // without an id it is labelled like ours, and not by us
			continue
		}
		if f.keep() && !all {
			errs = append(errs, removeContainers(ctx, docker, f.agents))
			continue
		}
		if err := remove(ctx, docker, f.id); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, fmt.Sprintf("container ensemble %s of %s: %d containers, %d networks",
			f.id, f.labels[labelCreated], len(f.containers)+len(f.agents), len(f.networks)))
	}
	return removed, errors.Join(errs...)
}

// remove removes everything of an ensemble, and returns when it is gone. It works
// for a cancelled context as well.
func remove(ctx context.Context, docker *client.Client, id string) error {
	if id == "" {
		return errors.New("removing an ensemble without an id: that would be all of them")
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), removeTimeout, fmt.Errorf("not within %v", removeTimeout))
	defer cancel()
	ticker := time.NewTicker(removeInterval)
	defer ticker.Stop()
	for {
		all, err := find(ctx, docker, id)
		if err == nil && len(all) == 0 {
			return nil
		}
		if err == nil {
			err = all[0].remove(ctx, docker)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("removing ensemble %s: %w (zkbench ensemble down tries again)", id, errors.Join(context.Cause(ctx), err))
		}
	}
}

// remove removes the containers, then the networks that they stood in.
func (f *found) remove(ctx context.Context, docker *client.Client) error {
	errs := []error{removeContainers(ctx, docker, slices.Concat(f.agents, f.containers))}
	for _, id := range f.networks {
		_, err := docker.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
		errs = append(errs, tolerate(err))
	}
	return errors.Join(errs...)
}

// removeContainers removes all of them at once.
func removeContainers(ctx context.Context, docker *client.Client, containers []container.Summary) error {
	var group errgroup.Group
	for _, c := range containers {
		group.Go(func() error {
			_, err := docker.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			return tolerate(err)
		})
	}
	return group.Wait()
}

// tolerate forgets errors that say that somebody else removes it at the same time.
func tolerate(err error) error {
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return err
}
