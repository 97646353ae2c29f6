package scenarios

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/report"
)

// play runs every batch of the scenario's trials, each on an ensemble of its own, and
// notes in run what they are.
func (c Config) play(ctx context.Context, run *report.Run) error {
	batches, err := c.Scenario.batches()
	if err != nil {
		return err
	}
	before, estimate := 0, newEstimate(batches)
	for _, b := range batches {
		o, logs := c.Ensemble, filepath.Join(c.Dir, report.EnsembleDir)
		if b.tick > 0 {
			o.Tick = b.tick
		}
		if len(batches) > 1 {
			logs = filepath.Join(logs, "tick-"+o.Tick.String())
		}
		err := c.withEnsemble(ctx, o, logs, run, func(r *runner) error {
			r.estimate = estimate
			return r.run(ctx, c.Scenario, b, before, len(estimate.trials))
		})
		if err != nil {
			return err
		}
		before += len(b.cells)
	}
	if len(batches) > 1 {
		run.Ensemble.Tick = 0 // there were several; each trial names its own
	}
	return nil
}

// withEnsemble brings an ensemble up, has the trials run on it, saves what its
// members have to say to logs, and takes it down again.
func (c Config) withEnsemble(ctx context.Context, o ensembles.Options, logs string, run *report.Run, trials func(*runner) error) (err error) {
	e, err := auto.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down(e, logs)) }()
	run.Ensemble = report.Ensemble{Kind: string(e.Kind), About: e.About, Members: len(e.Members), Tick: e.Tick}
	run.Versions["zookeeper"] = e.Version
	c.Logf("ensemble: %s, %d members (%s)", e.Kind, len(e.Members), e.About)
	network, err := chaos.NewNetwork(ctx, e)
	switch {
	case errors.Is(err, chaos.ErrSkipped):
		c.Logf("network faults: %v", err)
	case err != nil:
		return err
	default:
		defer func() { err = errors.Join(err, limited(network.Close)) }()
	}
	return trials(&runner{
		ensemble: e, network: network, id: e.ID + "-" + run.Start.Format("150405"),
		seed: c.Seed, dir: c.Dir, replay: c.Replay, progress: c.Progress,
	})
}

// down saves what the members have to say and takes the ensemble down.
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

// limited runs a clean-up that must happen although the run may be cancelled.
func limited(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return f(ctx)
}
