package phases

import (
	"context"
	"fmt"

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
		Validate:      (*spec.Phase).CheckDuration,
	}, connect)
}

// connect opens a session for every client and keeps it idle. It measures the cost of sessions, and
// whether they survive faults.
func connect(ctx context.Context, st *stage.Stage) error {
	loads := st.WatchLoads(ctx)
	defer loads.Stop()
	before := stage.MemoryNow()
	if err := st.ConnectAll(ctx); err != nil {
		return err
	}
	loads.Opening.Store(false)
	st.RecordFootprint(before)
	phase, _, end := st.Timed(ctx)
	defer end()
	st.PlayFaults(phase)
	return st.ReconnectAll(ctx)
}
