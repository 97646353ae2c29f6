package container

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/moby/client"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

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
		r, err := f.record()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		records = append(records, r)
	}
	return records, errors.Join(errs...)
}

// Attach returns a kept ensemble that another process has started, with the same
// power over its members. Its Down only detaches.
func Attach(ctx context.Context, r state.Record) (*ensembles.Ensemble, error) {
	if !r.Keep {
		return nil, fmt.Errorf("ensemble %s belongs to process %d and ends with it", r.ID, r.Owner.PID)
	}
	docker, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	e := assemble(docker, &r)
	describe(ctx, e)
	e.Down = func(context.Context) error { return docker.Close() }
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
