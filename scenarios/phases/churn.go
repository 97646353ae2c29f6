package phases

import (
	"context"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

func init() {
	stage.AddKind(spec.Kind{
		Name:     "churn",
		About:    "a closed loop: each client re-enters as soon as it has left, while faults are active",
		Pace:     history.ByClients,
		Barriers: true,
		Paths:    true,
		Fields:   []string{"duration", "faults", "size", "contenders"},
		Validate: func(p *spec.Phase, bad spec.ProblemFunc) {
			p.CheckDuration(bad)
			spec.Between(bad, "contenders", p.Contenders, 0, spec.MaxClients)
		},
		MinClients: func(p *spec.Phase) (int, string) { return p.Contenders, "contenders are among the clients" },
	}, func(ctx context.Context, st *stage.Stage) error {
		if st.IsQueue() {
			return exchange(ctx, st)
		}
		return churn(ctx, st)
	})
}

// churn runs every client in a closed loop (acquire, write, hold, release) for the duration of the phase.
func churn(ctx context.Context, st *stage.Stage) error {
	phase, _, end := st.Timed(ctx)
	defer end()
	wait := stage.Start(st.Clients, func(c *stage.Client) { c.Loop(phase) })
	st.PlayFaults(phase)
	wait()
	return st.SnapshotAfterLoad(ctx)
}

// exchange is the churn of a queue: each client puts and takes one item at a time in a closed loop, for
// the duration of the phase. The queue never has more items than clients.
func exchange(ctx context.Context, st *stage.Stage) error {
	phase, _, end := st.Timed(ctx)
	defer end()
	defer startConsumers(ctx, st, func(taking context.Context, c *stage.Client) { c.Exchange(phase, taking) })()
	st.PlayFaults(phase)
	return st.WaitQueueEmpty(ctx, st.GrantTimeout())
}
