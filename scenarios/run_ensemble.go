package scenarios

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/report"
)

// play runs every batch of the scenario's trials, each on its own ensemble, and describes the
// ensembles in run.
func (c Config) play(ctx context.Context, run *report.Run) error {
	batches, err := c.Scenario.batches()
	if err != nil {
		return err
	}
	if err := auto.Fetch(ctx, c.images(), c.Logf); err != nil {
		return err
	}
	before, estimate := 0, newEstimate(batches)
	for i, b := range batches {
		o, logs := c.on(b), filepath.Join(c.Dir, report.EnsembleDir)
		if len(batches) > 1 {
			logs = filepath.Join(logs, c.folder(batches, i))
		}
		err := c.withEnsemble(ctx, o, logs, run, b.cells, func(r *runner) error {
			r.estimate = estimate
			return r.run(ctx, c.Scenario, b, before, len(estimate.trials))
		})
		if err != nil {
			return err
		}
		before += len(b.cells)
	}
	if slices.ContainsFunc(batches, func(b batch) bool { return b.tick != batches[0].tick }) {
		run.Ensemble.Tick = 0 // ensembles differ; each trial names its own
	}
	return nil
}

// withEnsemble starts an ensemble, runs the trials on it, saves the members' logs, and stops it.
//
// Faults that the ensemble does not support are omitted of the cells, or reported.
func (c Config) withEnsemble(ctx context.Context, o ensembles.Options, logs string, run *report.Run, cells []cell, trials func(*runner) error) (err error) {
	e, err := auto.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down(e, logs)) }()
	about, version := ofEnsemble(e)
	about = also(run.Ensemble.About, about, "; ")
	run.Ensemble = ensembleOf(e)
	run.Ensemble.About = about
	run.Versions["zookeeper"] = also(run.Versions["zookeeper"], version, ", ")
	c.Logf("ensemble: %s, %s (%s)", e.Kind, e.Size(), e.About)
	unlock, err := c.lock(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	network, err := chaos.NewNetwork(ctx, e)
	switch {
	case errors.Is(err, chaos.ErrSkipped): // its faults report the reason
	case err != nil:
		return err
	default:
		defer func() { err = errors.Join(err, limited(network.Close)) }()
	}
	if run.LeftOut, err = c.leaveOut(ctx, chaos.Target{Ensemble: e, Network: network}, cells); err != nil {
		return err
	}
	if c.Agents != nil {
		run.Agents = c.Agents.Names()
		defer func() { run.Agents = c.Agents.Names() }() // some may have joined later
	}
	if c.Agents != nil && !relayed(c.Relay, e) {
		if err := c.Agents.Reaches(e.Servers()); err != nil {
			return fmt.Errorf("%w; have them go through this machine: --agents-relay", err)
		}
	}
	return trials(&runner{
		ensemble: e, network: network, id: e.ID + "-" + randomID(), log: c.Logf,
		fleet: c.Agents, relay: c.Relay, seed: c.Seed, dir: c.Dir, replay: c.Replay, driver: c.Driver, progress: c.Progress,
	})
}

// ensembleOf describes an ensemble for the report.
func ensembleOf(e *ensembles.Ensemble) report.Ensemble {
	out := report.Ensemble{Kind: string(e.Kind), About: e.About, Members: len(e.Voting()), Tick: e.Tick}
	for _, m := range e.Members {
		if m.Observer {
			out.Observers = append(out.Observers, m.Name)
		}
	}
	return out
}

// lock protects runs on a persistent ensemble from each other: runs share it, but one whose faults
// touch members has it alone. unlock must be called.
func (c Config) lock(e *ensembles.Ensemble) (unlock func() error, err error) {
	id, err := kept(e)
	if id == "" || err != nil {
		return func() error { return nil }, err
	}
	exclusive := slices.ContainsFunc(c.Scenario.Phases, func(p Phase) bool { return len(p.memberFaults()) > 0 })
	l, err := state.Acquire(id, c.Scenario.Name, exclusive)
	switch {
	case errors.Is(err, state.ErrLocked) && exclusive:
		return nil, fmt.Errorf("%w, and the faults of %s touch its members: wait until it is free, or start an ensemble for this run (--ensemble process or container)", err, c.Scenario.Name)
	case errors.Is(err, state.ErrLocked):
		return nil, fmt.Errorf("%w, whose faults touch its members: wait until it is free, or start an ensemble for this run (--ensemble process or container)", err)
	case err != nil:
		return nil, err
	}
	return l.Release, nil
}

// kept returns the ID of the persistent ensemble that e is; "" if it is external. A persistent
// ensemble can also be named by its addresses.
func kept(e *ensembles.Ensemble) (id string, err error) {
	if e.Kind != ensembles.External {
		return e.ID, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	records, err := auto.List(ctx)
	for _, r := range records {
		if slices.ContainsFunc(r.Members, func(m state.Member) bool { return slices.Contains(e.Servers(), m.Addr()) }) {
			return r.ID, nil
		}
	}
	return "", err
}

// randomID returns an ID that distinguishes runs on one ensemble.
func randomID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// down saves the members' logs and stops the ensemble.
func down(e *ensembles.Ensemble, logs string) error {
	return limited(func(ctx context.Context) error {
		errs := []error{os.MkdirAll(logs, 0o755)}
		for _, m := range e.Members {
			if m.Machine != nil {
				errs = append(errs, m.Machine.Save(ctx, logs))
			}
		}
		return errors.Join(append(errs, e.Down(ctx))...)
	})
}

// limited runs a clean-up with a context that outlasts a cancelled run.
func limited(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return f(ctx)
}
