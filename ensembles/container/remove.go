package container

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensembles/internal/wait"
)

// removeInterval is how often Docker is asked whether the rest is gone.
const removeInterval = 50 * time.Millisecond

// remove removes everything of an ensemble, and returns when it is gone. It works
// for a cancelled context as well.
func remove(ctx context.Context, docker *client.Client, id string) error {
	if id == "" {
		return errors.New("removing an ensemble without an id: that would be all of them")
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), removeTimeout, fmt.Errorf("not within %v", removeTimeout))
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
	return nil
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
