//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/ensembles/state"
)

// Attach returns a persistent ensemble that another process has started, with full control of its
// members. Its Down only detaches.
func Attach(_ context.Context, r state.Record) (*ensembles.Ensemble, error) {
	// The exclusive lock of a removal excludes the shared locks of attached processes. The kernel releases both
	// when their process dies, so that a crashed run never blocks a later run.
	used, err := state.LockOwnDir(r.Dir, false)
	if errors.Is(err, state.ErrLocked) {
		err = errors.New("another process is removing it")
	}
	if err != nil {
		return nil, fmt.Errorf("attaching to ensemble %s: %w", r.ID, err)
	}
	l := &localEnsemble{record: &r}
	e := l.ensemble()
	e.Down = setup.Once(func(context.Context) error { return used.Close() })
	for _, m := range l.machines {
		if found := state.FindAll(memberArg(r.ID, m.member.Name)); len(found) > 0 {
			m.process = found[0]
		}
	}
	return e, nil
}

// Place returns the namespaces of a persistent ensemble's networks, so that another process can
// join them.
func Place(r state.Record) (rootless.Place, error) {
	network, err := filepath.Abs(netNSPath(&r, hostNetNS(&r)))
	if err == nil { // a symbolic link would be resolved in this namespace
		network, err = filepath.EvalSymlinks(network)
	}
	if err != nil {
		return rootless.Place{}, fmt.Errorf("finding the network of ensemble %s: %w", r.ID, err)
	}
	running := state.FindAll(ensembleArg(r.ID))
	if len(running) == 0 {
		return rootless.Place{}, fmt.Errorf("no member of ensemble %s is running, and no process uses its networks (zkbench ensemble down removes it)", r.ID)
	}
	return rootless.Place{PID: running[0].PID, Network: network}, nil
}

// Sweep removes ensembles whose owner is dead: their JVMs, namespaces, links and folders.
// Running persistent ensembles are kept, unless all is set. It never touches an ensemble with a living
// owner or an attached process. It returns one line for each removed ensemble.
func Sweep(_ context.Context, all bool) (removed []string, err error) {
	records, err := state.List()
	errs := []error{err}
	for _, r := range records {
		if r.Kind != ensembles.Process {
			continue
		}
		line, err := sweep(&r, all)
		if line != "" {
			removed = append(removed, line)
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// sweep removes one ensemble and returns a line about it, or "" if it keeps the ensemble.
func sweep(r *state.Record, all bool) (string, error) {
	running := len(state.FindAll(ensembleArg(r.ID)))
	if r.OwnerAlive() || r.Keep && running > 0 && !all {
		return "", nil
	}
	claimed, err := state.LockOwnDir(r.Dir, true)
	switch {
	case errors.Is(err, state.ErrLocked):
		return "", nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, state.ErrForeign): // there is no folder to remove
	case err != nil:
		return "", fmt.Errorf("removing ensemble %s: %w", r.ID, err)
	default:
		defer claimed.Close()
	}
	if err := remove(r, claimed != nil); err != nil {
		return "", err
	}
	return fmt.Sprintf("process ensemble %s of %s: %d of %d members were running, %d network namespaces, %s",
		r.ID, r.Created.Format("2006-01-02 15:04:05"), running, len(r.Members), len(r.Namespaces), r.Dir), nil
}

// remove removes the record last. folder tells that the ensemble's folder exists and belongs to this user.
func remove(r *state.Record, folder bool) error {
	var group errgroup.Group
	for _, p := range state.FindAll(ensembleArg(r.ID)) {
		group.Go(p.Kill)
	}
	err := group.Wait()
	if err == nil {
		err = tearDownNetwork(r)
	}
	if err == nil && folder {
		err = os.RemoveAll(r.Dir)
	}
	if err != nil {
		return fmt.Errorf("removing ensemble %s: %w", r.ID, err)
	}
	return state.Remove(r.ID)
}
