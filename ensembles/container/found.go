package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/zkbench/zkbench/ensembles/state"
)

type found struct {
	id         string
	labels     map[string]string
	containers []container.Summary
	agents     []container.Summary // helpers of package chaos in members' networks
	networks   []string
}

// find returns zkbench's containers and networks, grouped by ensemble; if id is set, of that ensemble only.
func find(ctx context.Context, docker *client.Client, id string) ([]*found, error) {
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
	byID := map[string]*found{}
	at := func(labels map[string]string) *found {
		id := labels[labelEnsemble]
		if byID[id] == nil {
			byID[id] = &found{id: id, labels: labels}
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
	return slices.SortedFunc(maps.Values(byID), func(a, b *found) int { return cmp.Compare(a.id, b.id) }), nil
}

// record returns the ensemble that the labels describe. If labels are missing, it returns an error
// together with the partial record.
func (f *found) record() (state.Record, error) {
	r, err := parseRecord(f.labels)
	errs := []error{err}
	for _, c := range f.containers {
		m, err := parseMember(c.Labels, c.ID)
		if err != nil {
			errs = append(errs, fmt.Errorf("ensemble %s: %w", f.id, err))
		}
		r.About = c.Image
		r.Members = append(r.Members, m)
	}
	slices.SortFunc(r.Members, func(a, b state.Member) int { return cmp.Compare(a.ID, b.ID) })
	return r, errors.Join(errs...)
}

func (f *found) used() bool {
	alive := func(labels map[string]string) bool {
		r, _ := parseRecord(labels) // an invalid tick does not matter
		return r.OwnerAlive()
	}
	return alive(f.labels) || slices.ContainsFunc(f.agents, func(c container.Summary) bool { return alive(c.Labels) })
}
