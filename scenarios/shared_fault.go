package scenarios

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

const maxSharedRuns = 5

// runShared runs cells that share one fault of a member. They begin at the same time, with their
// clients on that member, and the fault is injected once for all. A cell whose step came too late, or
// whose client was on another member, is repeated, up to maxSharedRuns runs in all.
func (r *runner) runShared(ctx context.Context, cells []spec.Cell, before, all int) error {
	for n := 0; len(cells) > 0 && ctx.Err() == nil; n++ {
		late, err := r.runSharedOnce(ctx, cells, n, before, all)
		if err != nil || n == maxSharedRuns-1 {
			return err
		}
		cells = slices.DeleteFunc(late, func(c spec.Cell) bool {
			again, failed := r.prepareRetry(c.TrialName())
			err = errors.Join(err, failed)
			return !again
		})
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// runSharedOnce runs the cells and returns the cells that the fault did not affect.
func (r *runner) runSharedOnce(ctx context.Context, cells []spec.Cell, again, before, all int) (late []spec.Cell, err error) {
	follower, err := r.follower(ctx)
	if err != nil {
		return nil, err
	}
	fault, server := cells[0].MemberFault(), r.ensemble.Members[follower].Addr
	if fault.Target != "" {
		server = ""
	}
	shared := stage.NewSharedFault(fault, fault.Lasts(cells[0].Scenario.SessionTimeout), server, len(cells))
	injected := make(chan error, 1)
	injecting, stop := context.WithCancel(ctx)
	defer stop()
	go func() { injected <- shared.Play(injecting, r.ensemble, r.ensemble.Members[follower].Name) }()
	var trials sync.Map // by name
	err = r.runConcurrently(ctx, cells, concurrency{before: before, all: all, atOnce: len(cells), prepare: func(t *trial) {
		t.earlierAttempts = again
		t.Shared, t.Shift = shared, follower-t.Cell.Injections[0].Step.Client()+len(r.ensemble.Members)
		trials.Store(t.name, t)
	}})
	stop()
	<-injected // the trials record the result
	// The trials' own cells have the subject that was started for them.
	return slices.DeleteFunc(slices.Clone(cells), func(c spec.Cell) bool {
		t, ok := trials.Load(c.TrialName())
		return !ok || !t.(*trial).Missed.Load()
	}), err
}

// follower returns the index of a follower, or of the only member.
func (r *runner) follower(ctx context.Context) (int, error) {
	leader, err := stage.Members{Ensemble: r.ensemble}.AwaitLeader(ctx)
	if err != nil {
		return 0, err
	}
	for i, m := range r.ensemble.Members {
		if m != leader {
			return i, nil
		}
	}
	return 0, nil
}
