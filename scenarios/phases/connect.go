package phases

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

func init() {
	stage.AddKind(spec.Kind{
		Name:          history.ConnectPhase,
		About:         fmt.Sprintf("opens all sessions, %d at a time, and keeps them idle for the duration while faults are active", stage.OpensAtOnce),
		Pace:          history.ByHarness,
		Fields:        []string{"duration", "faults"},
		OpensSessions: true,
		Barriers:      true,
		Paths:         true,
		Validate:      (*spec.Phase).CheckDuration,
	}, connect)
}

// connect opens a session for every client and keeps it idle. It measures the cost of sessions, and
// whether they survive faults.
func connect(ctx context.Context, st *stage.Stage) error {
	loads := watchLoads(ctx, st)
	defer loads.stop()
	before := memoryNow()
	if err := connectAll(ctx, st); err != nil {
		return err
	}
	loads.opening.Store(false)
	recordFootprint(st, before)
	phase, _, end := st.Timed(ctx)
	defer end()
	st.PlayFaults(phase)
	return reconnectAll(ctx, st)
}

// connectLimit bounds the time in which all sessions must be connected, at first and again after faults.
const connectLimit = 10 * time.Minute

func connectAll(ctx context.Context, st *stage.Stage) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectLimit, fmt.Errorf("not all sessions were connected within %v", connectLimit))
	defer cancel()
	var opened atomic.Int64
	return stage.Each(st.Clients, stage.OpensAtOnce, func(c *stage.Client) error {
		call := st.Clock.Now()
		if err := c.Open(ctx); err != nil {
			return err
		}
		st.Record.Record(&history.Connected{At: st.Clock.Now(), Phase: st.Phase.Name, Client: c.Number, Call: call})
		st.Report("%d of %d sessions", opened.Add(1), len(st.Clients))
		return nil
	})
}

// reconnectAll waits until no client is reconnecting, and opens new sessions for clients that lost theirs.
func reconnectAll(ctx context.Context, st *stage.Stage) error {
	st.Report("waiting until all sessions are connected")
	err := stage.Poll(ctx, connectLimit, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(st.Clients, isReconnecting), nil
	})
	if err != nil {
		return fmt.Errorf("wait until every client is connected: %w", err)
	}
	return stage.Each(st.Clients, stage.OpensAtOnce, func(c *stage.Client) error {
		if c.Wire.Session().Server != "" {
			return nil
		}
		return c.Reopen(ctx)
	})
}

func isReconnecting(c *stage.Client) bool {
	s := c.Wire.Session()
	return s.Server == "" && !s.Expired && c.Stage.Clock.Now() < s.Deadline()
}

func memoryNow() history.Footprint {
	runtime.GC()
	runtime.GC() // the first call may only have completed a collection in progress
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return history.Footprint{Heap: int64(m.HeapAlloc), Stacks: int64(m.StackInuse), Goroutines: int64(runtime.NumGoroutine())}
}

// recordFootprint records the memory that the clients' sessions use. It records nothing if the
// clients run in another process or other trials run at the same time.
func recordFootprint(st *stage.Stage, before history.Footprint) {
	if st.Driven || st.Members.SharedMembers {
		return
	}
	now := memoryNow()
	st.Record.Record(&history.Footprint{
		At: st.Clock.Now(), Phase: st.Phase.Name, Sessions: int64(len(st.Clients)),
		Heap: now.Heap - before.Heap, Stacks: now.Stacks - before.Stacks, Goroutines: now.Goroutines - before.Goroutines,
	})
}
