package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/stage"
	"golang.org/x/sync/errgroup"
)

// warmUpSessions is the number of sessions of a warm-up.
const warmUpSessions = 12

// warm loads the members with the operations of contenders for the duration d: a JVM that has just
// started is several times slower. Nothing is recorded.
func (r *runner) warm(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if r.Progress != nil {
		r.Progress(stage.Status{Phase: "warm-up"})
	}
	until := time.Now().Add(d)
	g, ctx := errgroup.WithContext(ctx)
	for i := range warmUpSessions {
		g.Go(func() error { return r.warmOne(ctx, i, fmt.Sprintf("%s/warm-%d", r.root(), i/2), until) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	return nil
}

// warmOne acquires and releases locks of both variants in one session until the given time. Two
// sessions share each parent, so that an acquire may also have to wait.
func (r *runner) warmOne(ctx context.Context, i int, parent string, until time.Time) error {
	s, err := recipes.Open(ctx, stage.Rotated(r.ensemble.Servers(), i), observer.HarnessOptions(r.ensemble, 0))
	if err != nil {
		return err
	}
	defer s.Close()
	locks := []*recipes.Lock{recipes.NewLock(s, parent, recipes.Parent), recipes.NewLock(s, parent, recipes.Predecessor)}
	for n := 0; time.Now().Before(until); n++ {
		g, err := locks[n%len(locks)].Acquire(ctx)
		if err != nil {
			return err
		}
		if err := g.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}
