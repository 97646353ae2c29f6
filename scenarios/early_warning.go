package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// earlyWarning watches the candidates with a session of its own, which is not counted, and warns
// once fewer are left than the phase states. (Seed 000: "an early warning can also be given based
// on the current number of workers".)
type earlyWarning struct {
	st     *stage
	s      *recipes.Session
	cancel context.CancelFunc
	done   chan struct{} // closed when it has stopped watching
	err    error         // valid after done

	once   sync.Once
	warned chan struct{} // closed when it has warned
}

// warnBelow begins to watch; it returns nil if the phase wants no warning.
func (st *stage) warnBelow(ctx context.Context) (*earlyWarning, error) {
	if st.phase.Warn == 0 {
		return nil, nil
	}
	open, opened := context.WithTimeout(ctx, joinLimit)
	defer opened()
	s, err := recipes.Open(open, st.observer.ensemble.Servers(), harnessOptions(st.observer.ensemble, st.scenario.SessionTimeout))
	if err != nil {
		return nil, fmt.Errorf("open the session that gives the early warning: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &earlyWarning{st: st, s: s, cancel: cancel, done: make(chan struct{}), warned: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.err = s.WatchChildren(ctx, st.parent, w.see)
	}()
	return w, nil
}

func (w *earlyWarning) see(names []string) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !sequential.MatchString(name) })
	if len(names) >= w.st.phase.Warn {
		return
	}
	w.once.Do(func() {
		w.st.record.Record(&history.Warning{At: w.st.clock.Now(), Phase: w.st.phase.Name, Round: w.st.round,
			Standing: len(names), Below: w.st.phase.Warn})
		close(w.warned)
	})
}

// await waits for the warning if no more than that number of candidates are left.
func (w *earlyWarning) await(ctx context.Context, standing int) error {
	if w == nil || standing >= w.st.phase.Warn {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, w.st.patience())
	defer cancel()
	select {
	case <-w.warned:
		return nil
	case <-w.done:
		return fmt.Errorf("the early warning's observer stopped: %w", w.err)
	case <-limit.Done():
		return errors.Join(ctx.Err(), fmt.Errorf("no early warning within %v though only %d candidates are left", w.st.patience(), standing))
	}
}

func (w *earlyWarning) close() {
	if w == nil {
		return
	}
	w.cancel()
	<-w.done
	w.s.Close()
}
