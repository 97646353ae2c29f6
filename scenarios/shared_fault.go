package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

func newSharedFault(fault *spec.MemberFault, lasts time.Duration, server string, trials int) *stage.SharedFault {
	return &stage.SharedFault{Fault: fault, Lasts: lasts, Server: server, Missing: trials, Ready: make(chan struct{}), Down: make(chan struct{}), Up: make(chan struct{})}
}

const maxSharedRuns = 5

// runShared runs cells that share one fault of a member. They begin at the same time, with their
// clients on that member, and the fault is injected once for all. A cell whose step came too late, or
// whose client was on another member, is repeated, up to waves runs in all.
func (r *runner) runShared(ctx context.Context, cells []spec.Cell, before, all int) error {
	for n := range maxSharedRuns {
		if len(cells) == 0 || ctx.Err() != nil {
			break
		}
		late, err := r.runSharedOnce(ctx, cells, n, before, all)
		if err != nil || n == maxSharedRuns-1 {
			return err
		}
		for cells = nil; len(late) > 0; late = late[1:] {
			again, err := r.prepareRetry(late[0].TrialName())
			if err != nil {
				return err
			}
			if again {
				cells = append(cells, late[0])
			}
		}
	}
	return context.Cause(ctx)
}

// runSharedOnce runs the cells and returns the cells that the fault did not affect.
func (r *runner) runSharedOnce(ctx context.Context, cells []spec.Cell, again, before, all int) (late []spec.Cell, err error) {
	victim, err := r.follower(ctx)
	if err != nil {
		return nil, err
	}
	fault, server := cells[0].MemberFault(), r.ensemble.Members[victim].Addr
	if fault.Target != "" {
		server = ""
	}
	j := newSharedFault(fault, fault.Lasts(cells[0].Scenario.SessionTimeout), server, len(cells))
	played := make(chan error, 1)
	playing, stop := context.WithCancel(ctx)
	defer stop()
	go func() { played <- j.Play(playing, r.ensemble, r.ensemble.Members[victim].Name) }()
	var mu sync.Mutex
	var trials []*trial
	err = r.runConcurrently(ctx, cells, concurrency{before: before, all: all, atOnce: len(cells), prepare: func(t *trial) {
		t.earlierAttempts = again
		t.stage.Shared, t.stage.Shift = j, victim-t.stage.Cell.Injections[0].Step.Client()+len(r.ensemble.Members)
		mu.Lock()
		defer mu.Unlock()
		trials = append(trials, t)
	}})
	stop()
	<-played // the trials record the result
	// The trials' own cells have the subject that was started for them.
	for _, c := range cells {
		if slices.ContainsFunc(trials, func(t *trial) bool { return t.name == c.TrialName() && t.stage.Missed.Load() }) {
			late = append(late, c)
		}
	}
	return late, err
}

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
	return 0, fmt.Errorf("no follower to inject the fault into: the ensemble has only %d member(s)", len(r.ensemble.Members))
}
