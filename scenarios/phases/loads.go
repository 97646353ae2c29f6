package phases

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/stage"
)

const (
	loadsEvery = 250 * time.Millisecond // interval of queries to each member
	loadLimit  = 2 * time.Second        // limit for a reply
)

// loads queries every member's load periodically, and records the reply or its absence. Members are
// queried independently of each other.
type loads struct {
	st      *stage.Stage
	opening atomic.Bool // sessions are being opened
	end     context.CancelFunc
	queries sync.WaitGroup
}

// watchLoads starts the queries. Members that zkbench started first reset their latency counters, so that
// the counters cover only this trial. stop must be called.
func watchLoads(ctx context.Context, st *stage.Stage) *loads {
	ctx, cancel := context.WithCancel(ctx)
	l := &loads{st: st, end: cancel}
	l.opening.Store(true)
	for _, m := range st.Members.Ensemble.Members {
		own := st.Members.IsManaged() && !st.Members.SharedMembers && resetCounters(ctx, m) == nil
		l.queries.Go(func() {
			for ctx.Err() == nil {
				if r := l.query(ctx, m, own); ctx.Err() == nil {
					st.Record.Record(r)
				}
				_ = stage.Pause(ctx, loadsEvery)
			}
		})
	}
	return l
}

func resetCounters(ctx context.Context, m *ensembles.Member) error {
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	_, err := ensembles.FourLetter(ctx, m, "srst")
	return err
}

func (l *loads) stop() {
	l.end()
	l.queries.Wait()
}

// query queries a member once. own means that the member's latency counters cover only this phase.
func (l *loads) query(ctx context.Context, m *ensembles.Member, own bool) *history.MemberLoad {
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	opening := l.opening.Load()
	mntr, err := ensembles.QueryCounters(ctx, m)
	r := &history.MemberLoad{At: l.st.Clock.Now(), Phase: l.st.Phase.Name, Member: m.Name, Opening: opening}
	outstanding, known := mntr["outstanding_requests"]
	switch {
	case err != nil:
		r.Err = err.Error()
	case !known:
		r.Err = fmt.Sprintf("the mntr reply of %s does not contain outstanding_requests", m.Name)
	default:
		r.Outstanding, r.Connections = new(int64(outstanding)), new(int64(mntr["num_alive_connections"]))
		if own {
			r.LatencyMean, r.LatencyMax = milliseconds(mntr["avg_latency"]), milliseconds(mntr["max_latency"])
		}
	}
	return r
}

func milliseconds(n float64) *time.Duration { return new(time.Duration(n * float64(time.Millisecond))) }
