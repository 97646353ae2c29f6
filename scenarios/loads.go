package scenarios

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/history"
)

const (
	loadsEvery = 250 * time.Millisecond // interval of queries to each member
	loadLimit  = 2 * time.Second        // limit for a reply
)

// loads queries every member's load periodically, and records the reply or its absence. Members are
// queried independently of each other.
type loads struct {
	st      *stage
	opening atomic.Bool // sessions are being opened
	end     context.CancelFunc
	asking  sync.WaitGroup
}

// watchLoads starts the queries. Our own members first reset their latency counters, so that other
// trials do not count. stop must be called.
func (st *stage) watchLoads(ctx context.Context) *loads {
	ctx, cancel := context.WithCancel(ctx)
	l := &loads{st: st, end: cancel}
	l.opening.Store(true)
	for _, m := range st.members.ensemble.Members {
		own := st.members.ours() && !st.members.shared && reset(ctx, m) == nil
		l.asking.Go(func() { l.watch(ctx, m, own) })
	}
	return l
}

func reset(ctx context.Context, m *ensembles.Member) error {
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	_, err := ensembles.FourLetter(ctx, m, "srst")
	return err
}

func (l *loads) stop() {
	l.end()
	l.asking.Wait()
}

func (l *loads) watch(ctx context.Context, m *ensembles.Member, own bool) {
	ticker := time.NewTicker(loadsEvery)
	defer ticker.Stop()
	for {
		if r := l.ask(ctx, m, own); ctx.Err() == nil {
			l.st.record.Record(r)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// ask queries a member once. own means that its latency counters concern this phase only.
func (l *loads) ask(ctx context.Context, m *ensembles.Member, own bool) *history.MemberLoad {
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	opening := l.opening.Load()
	mntr, err := ensembles.Monitor(ctx, m)
	r := &history.MemberLoad{At: l.st.clock.Now(), Phase: l.st.phase.Name, Member: m.Name, Opening: opening}
	outstanding, known := mntr["outstanding_requests"]
	switch {
	case err != nil:
		r.Err = err.Error()
	case !known:
		r.Err = fmt.Sprintf("mntr of %s has no outstanding_requests", m.Name)
	default:
		r.Outstanding, r.Connections = new(int64(outstanding)), new(int64(mntr["num_alive_connections"]))
		if own {
			r.LatencyMean, r.LatencyMax = milliseconds(mntr["avg_latency"]), milliseconds(mntr["max_latency"])
		}
	}
	return r
}

func milliseconds(n float64) *time.Duration { return new(time.Duration(n * float64(time.Millisecond))) }
