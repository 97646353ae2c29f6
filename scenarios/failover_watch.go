package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// watch looks at the members while a failover is under way: when the first of them
// removes the victim's node.
type watch struct {
	stop func()

	mu        sync.Mutex
	committed time.Duration // 0: not seen
}

// look begins to watch, with a watch at each member: polling would be a load of its own.
func (f *failover) look(ctx context.Context) *watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{}
	var all sync.WaitGroup
	w.stop = func() { cancel(); all.Wait() }
	for i := range f.harness.servers {
		all.Go(func() { w.awaitGone(ctx, f, i) })
	}
	return w
}

// awaitGone waits until the i-th member removes the node. One that is killed
// meanwhile tells nothing: the others do.
func (w *watch) awaitGone(ctx context.Context, f *failover, i int) {
	s, err := f.harness.member(ctx, i)
	if err != nil || s.AwaitGone(ctx, f.claim.Path) != nil {
		return
	}
	now := f.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.committed == 0 || now < w.committed {
		w.committed = now
	}
}

// expiry returns when the leader let the victim's session run out, by the member's own
// log, which has it to the millisecond; 0 where the members are not ours.
func (f *failover) expiry(ctx context.Context) time.Duration {
	dir, err := os.MkdirTemp("", "zkbench-expiry-")
	if err != nil {
		return 0
	}
	defer os.RemoveAll(dir)
	line := fmt.Appendf(nil, "Expiring session %#x,", uint64(f.session))
	for _, m := range f.lab.Ensemble.Members {
		if m.Machine == nil || m.Machine.Save(ctx, dir) != nil {
			continue
		}
		log, err := os.ReadFile(filepath.Join(dir, m.Name+".log"))
		if err != nil {
			continue
		}
		if at := bytes.LastIndex(log, line); at >= 0 {
			begin := bytes.LastIndexByte(log[:at], '\n') + 1
			if ago, ok := logAge(string(log[begin:at]), time.Now()); ok {
				return f.clock.Now() - ago
			}
		}
	}
	return 0
}

// stamp is the time of day at which a line was logged.
var stamp = regexp.MustCompile(`\b\d\d:(\d\d):(\d\d)[.,](\d\d\d)\b`)

// zones is what the clocks of time zones differ by, at the least: the time zone of a
// member's log is not known.
const zones = 15 * time.Minute

// logAge returns how long before now a line was logged that is younger than zones.
func logAge(line string, now time.Time) (time.Duration, bool) {
	m := stamp.FindStringSubmatch(line)
	if m == nil {
		return 0, false
	}
	var at time.Duration
	for i, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond} {
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return 0, false
		}
		at += time.Duration(n) * unit
	}
	day := now.Sub(now.Truncate(24 * time.Hour))
	return ((day-at)%zones + zones) % zones, true
}

// stages takes down what was seen on the way to the next grant. What was seen later than
// it can have been is put right: a node was gone when the next one was woken.
func (f *failover) stages(ctx context.Context, w *watch, next *granted) {
	if s := f.victim.wire.Session(); s.ID == f.session {
		f.seen.Heard = min(s.LastAckSent, f.strike)
	}
	if next == nil {
		return
	}
	latest := next.at
	note := func(instant *time.Duration, at time.Duration) {
		latest = min(latest, at)
		*instant = latest
	}
	if n := next.c.wire.Notified(); n > f.strike && n <= next.at {
		note(&f.seen.Woken, n)
	}
	w.mu.Lock()
	committed := w.committed
	w.mu.Unlock()
	if committed == 0 {
		committed = latest // our watches were slower: it cannot have been later
	}
	note(&f.seen.Committed, committed)
	if f.cause.expires {
		if at := f.expiry(ctx); at > f.strike {
			note(&f.seen.Expired, at)
		}
	}
}

// predict says how long the next grant may take after this strike.
func (f *failover) predict() prediction {
	s := f.victim.wire.Session()
	slack := defaultSlack
	if d, err := time.ParseDuration(f.scenario.Params["slack"]); err == nil {
		slack = d
	}
	unheard := s.Timeout / 3
	if s.ID == f.session {
		unheard = max(0, f.strike-s.LastAckSent)
	}
	return f.cause.predict(s.Timeout, f.lab.Ensemble.Tick, unheard, slack, f.leads)
}

// report records the round.
func (f *failover) report() {
	p, r := f.predict(), &f.seen
	r.At, r.Phase, r.Round, r.Cause = f.clock.Now(), f.phase.Name, f.trial.round, f.phase.Cause
	r.Client, r.Session, r.Token, r.Path = f.victim.n, f.session, f.claim.Token, f.claim.Path
	r.Timeout, r.Injected = f.victim.wire.Session().Timeout, f.strike
	r.Least, r.Most, r.Mean, r.Expires = p.least, p.most, max(p.mean, 0), f.cause.expires
	f.record.Record(r)
}
