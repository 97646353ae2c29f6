package scenarios

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

func init() {
	addKind(kind{
		name:   history.FailoverPhase,
		about:  "a cause ends the holder, again and again; the time to the next grant is taken",
		pace:   history.ByHarness,
		needs:  needsGrants,
		fields: []string{"rounds", "cause"},
		words:  map[string][]string{"cause": causeNames()},
		validate: func(p *Phase, bad problemFunc) {
			between(bad, "rounds", p.Rounds, 0, maxRounds) // 0 leaves the phase out
			if causes[p.Cause] == nil {
				bad("cause", "%q is no cause%s", p.Cause, units.Nearest(p.Cause, causeNames()))
			}
		},
		tooFew: func(p *Phase, clients int) string {
			if clients < 2 && p.Rounds > 0 {
				return fmt.Sprintf("%d leaves no successor of the holder", clients)
			}
			return ""
		},
		plan: planFailover,
		faults: func(p *Phase) []string {
			if p.Rounds == 0 {
				return nil
			}
			if c := causes[p.Cause]; c != nil { // an unknown cause is reported elsewhere
				return c.faultNames()
			}
			return nil
		},
		effort: drainEffort,
		run:    failover,
	})
}

// planFailover chooses the holder of each round, and how long it holds before the hit. Pings are sent
// every third of a session timeout, and members work in ticks: half a timeout covers both
// uniformly. Otherwise the time can be short.
func planFailover(p *Phase, r *rand.Rand, timeout time.Duration, clients int) []plannedRound {
	most := timeout / 2
	if c := causes[p.Cause]; !c.expires && !c.keeps {
		most = min(most, 100*time.Millisecond)
	}
	var rounds []plannedRound
	for range p.Rounds {
		rounds = append(rounds, plannedRound{
			Holder: r.IntN(clients),
			Wait:   p.Hold + time.Duration(r.Int64N(int64(most))).Truncate(time.Microsecond),
		})
	}
	return rounds
}

// failover runs the phase's rounds: in each, one client holds and all others wait, the cause hits
// the holder, and every step until the next grant is timed.
func failover(ctx context.Context, st *stage) error {
	if err := causes[st.phase.Cause].lacking(st.members.ensemble); err != nil && len(st.planned.Rounds) > 0 {
		return err
	}
	for i, r := range st.planned.Rounds {
		st.round = i + 1
		st.report("round %d of %d", st.round, len(st.planned.Rounds))
		f := &failoverRound{
			st: st, cause: causes[st.phase.Cause], line: st.newLine(ctx), victim: st.clients[r.Holder],
			learned: make(chan learned, 64), seen: history.Failover{Next: -1},
		}
		if err := f.run(ctx, r.Wait); err != nil {
			return fmt.Errorf("round %d: %w", st.round, err)
		}
	}
	return nil
}
