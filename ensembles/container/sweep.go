package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
	"github.com/zkbench/zkbench/ensembles/state"
)

const removeInterval = 50 * time.Millisecond

// remove returns when all is removed. It ignores cancellation of the context.
func remove(ctx context.Context, docker *client.Client, id string) error {
	if id == "" {
		return errors.New("removing an ensemble: its ID is empty, which would match every ensemble")
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), removeTimeout, fmt.Errorf("timed out after %v", removeTimeout))
	defer cancel()
	var last error
	err := wait.Until(ctx, removeInterval, func() bool {
		all, err := find(ctx, docker, id)
		if err == nil && len(all) == 0 {
			return true
		}
		if err == nil {
			err = all[0].remove(ctx, docker)
		}
		last = err
		return false
	})
	if err != nil {
		return fmt.Errorf("removing ensemble %s: %w (zkbench ensemble down tries again)", id, errors.Join(err, last))
	}
	return state.Remove(id)
}

func (f *resources) remove(ctx context.Context, docker *client.Client) error {
	errs := []error{removeContainers(ctx, docker, slices.Concat(f.agents, f.containers))}
	for _, id := range f.networks {
		_, err := docker.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
		errs = append(errs, tolerate(err))
	}
	return errors.Join(errs...)
}

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

func tolerate(err error) error {
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return err
}

// Attach returns a persistent ensemble that another process has started, with full control of its
// members. Its Down only detaches.
func Attach(ctx context.Context, r state.Record) (*ensembles.Ensemble, error) {
	docker, err := Docker(ctx)
	if err != nil {
		return nil, err
	}
	e := assemble(docker, &r)
	describe(ctx, e)
	e.Down = func(context.Context) error { return docker.Close() }
	return e, nil
}

// Sweep removes the containers and networks of ensembles whose owner is dead. Persistent ensembles are
// kept, unless all is set. It never touches an ensemble with a living owner or with an agent of a
// living process. It returns one line for each removed ensemble.
func Sweep(ctx context.Context, all bool) (removed []string, err error) {
	docker, err := Docker(ctx)
	if err != nil {
		return nil, err
	}
	defer docker.Close()
	ours, err := find(ctx, docker, "")
	if err != nil {
		return nil, err
	}
	removed, err = sweep(ctx, docker, ours, all)
	return removed, errors.Join(err, removeStaleRecords(ours))
}

// removeStaleRecords removes the records of ensembles that have no containers.
func removeStaleRecords(ours []*resources) error {
	records, err := state.List()
	for _, r := range records {
		exists := slices.ContainsFunc(ours, func(f *resources) bool { return f.id == r.ID })
		if r.Kind == ensembles.Container && !exists && !r.OwnerAlive() {
			err = errors.Join(err, state.Remove(r.ID))
		}
	}
	return err
}

func sweep(ctx context.Context, docker *client.Client, ours []*resources, all bool) (removed []string, err error) {
	var errs []error
	for _, f := range ours {
		if f.id == "" || f.inUse() { // without an ID, zkbench has not labelled it
			continue
		}
		if f.labels[labelKeep] == "true" && !all {
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

type resources struct {
	id         string
	labels     map[string]string
	containers []container.Summary
	agents     []container.Summary // helpers of package chaos in members' networks
	networks   []string
}

// find returns zkbench's containers and networks, grouped by ensemble; if id is set, of that ensemble only.
func find(ctx context.Context, docker *client.Client, id string) ([]*resources, error) {
	filters := make(client.Filters).Add("label", labelOurs+"=1")
	if id != "" {
		filters.Add("label", labelEnsemble+"="+id)
	}
	containers, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return nil, fmt.Errorf("listing zkbench's containers: %w", err)
	}
	networks, err := docker.NetworkList(ctx, client.NetworkListOptions{Filters: filters})
	if err != nil {
		return nil, fmt.Errorf("listing zkbench's networks: %w", err)
	}
	byID := map[string]*resources{}
	at := func(labels map[string]string) *resources {
		id := labels[labelEnsemble]
		if byID[id] == nil {
			byID[id] = &resources{id: id, labels: labels}
		}
		return byID[id]
	}
	// Networks first: their labels describe the ensemble's owner.
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
	return slices.SortedFunc(maps.Values(byID), func(a, b *resources) int { return cmp.Compare(a.id, b.id) }), nil
}

func (f *resources) inUse() bool {
	alive := func(labels map[string]string) bool {
		return state.Record{Host: labels[labelHost], Owner: state.ParseProcess(labels[labelOwner])}.OwnerAlive()
	}
	return alive(f.labels) || slices.ContainsFunc(f.agents, func(c container.Summary) bool { return alive(c.Labels) })
}
