package stage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/observer"
	"golang.org/x/sync/errgroup"
)

// recoveryLimit is the time within which an ensemble must recover. Otherwise the trial ends, because later
// measurements would be meaningless.
const recoveryLimit = 90 * time.Second

// recovery checks after each fault whether the ensemble has recovered, and measures the time since healing began.
type recovery struct {
	st  *Stage
	ctx context.Context

	mu         sync.Mutex
	active     map[string]bool
	cancelWait context.CancelFunc // ends the wait in progress, or nil
	waits      sync.WaitGroup
	errs       []error
}

// ErrUnhealthy means that the ensemble cannot serve the trial.
var ErrUnhealthy = errors.New("the ensemble is not healthy")

func key(p chaos.Window) string { return fmt.Sprint(p.Fault, p.Start) }

// injected records an active fault; recovery cannot begin before it is healed.
func (r *recovery) injected(p chaos.Window) {
	if !chaos.TouchesMembers(p.Fault) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active[key(p)] = true
	r.st.MemberFaults.Add(1)
	if r.cancelWait != nil {
		r.cancelWait()
	}
}

// healed records a healed fault, and waits for recovery once no other is active.
func (r *recovery) healed(p chaos.Window) {
	if !chaos.TouchesMembers(p.Fault) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.active[key(p)] {
		return // the fault was never active
	}
	delete(r.active, key(p))
	if len(r.active) > 0 {
		r.st.MemberFaults.Add(-1)
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.cancelWait = cancel
	r.waits.Go(func() {
		defer cancel()
		defer r.st.MemberFaults.Add(-1)
		r.await(ctx, p)
	})
}

// await waits until the ensemble has recovered and records the time. A new fault ends the wait without a record.
func (r *recovery) await(ctx context.Context, p chaos.Window) {
	err := AwaitHealthy(ctx, r.st.Observer)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, fmt.Errorf("%w: it has not recovered after %s of %s: %w", ErrUnhealthy, p.Fault, p.Target, err))
		return
	}
	r.st.Record.Record(&history.Recovered{At: r.st.Clock.Now(), Phase: r.st.Phase.Name, Fault: p.Fault, Healing: p.HealingAt})
}

// wait waits for the last recovery. It fails if the ensemble has not recovered.
func (r *recovery) wait() error {
	r.waits.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}

// AwaitHealthy waits until every member serves, a leader exists, and a write through one member was read from
// all members. It opens new sessions, because the reconnect delay of existing sessions would add to the time.
func AwaitHealthy(ctx context.Context, o *observer.Observer) error {
	e := o.Ensemble
	ctx, cancel := context.WithTimeoutCause(ctx, recoveryLimit, fmt.Errorf("timed out after %v", recoveryLimit))
	defer cancel()
	if err := ensembles.WaitServing(ctx, e); err != nil {
		return err
	}
	sessions := make([]*recipes.Session, len(e.Members))
	defer func() {
		for _, s := range sessions {
			if s != nil {
				s.Close()
			}
		}
	}()
	var g errgroup.Group
	for i, m := range e.Members {
		g.Go(func() (err error) {
			sessions[i], err = recipes.Open(ctx, []string{m.Addr}, observer.HarnessOptions(e, 0))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := awaitReplicated(ctx, sessions, o.Root+"/health"); err != nil {
		return fmt.Errorf("a write did not reach every member: %w", err)
	}
	return nil
}

func awaitReplicated(ctx context.Context, sessions []*recipes.Session, path string) error {
	if err := sessions[0].MakePath(ctx, path); err != nil {
		return err
	}
	stat, err := sessions[0].Set(ctx, path, nil, -1)
	if err != nil {
		return err
	}
	var g errgroup.Group
	for _, s := range sessions {
		g.Go(func() error {
			return Poll(ctx, recoveryLimit, func(ctx context.Context) (bool, error) {
				got, err := s.Exists(ctx, path)
				return got != nil && got.Mzxid >= stat.Mzxid, err
			})
		})
	}
	return g.Wait()
}
