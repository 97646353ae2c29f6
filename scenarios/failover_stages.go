package scenarios

import (
	"cmp"
	"context"
	"time"
)

// stages records the times of the steps before the next grant. A time that is later than possible
// is corrected: a node was removed before its successor was notified.
func (f *failoverRound) stages(ctx context.Context, removed func() time.Duration, next *attempt) {
	if s := f.victim.wire.Session(); s.ID == f.session {
		f.seen.Heard = min(s.LastAckSent, f.hitAt)
	}
	if next == nil {
		return
	}
	latest := next.at
	see := func(instant *time.Duration, at time.Duration) {
		latest = min(latest, at)
		*instant = latest
	}
	if n := next.c.wire.Notified(); n > f.hitAt && n <= next.at {
		see(&f.seen.Woken, n)
	}
	// Our watches may have been slower.
	see(&f.seen.Committed, cmp.Or(removed(), latest))
	if !f.cause.expires {
		return
	}
	if ago, ok := f.st.members.expiredAgo(ctx, f.session); ok {
		if at := f.st.clock.Now() - ago; at > f.hitAt {
			see(&f.seen.Expired, at)
		}
	}
}

// predict returns the expected time until the next grant after this hit.
func (f *failoverRound) predict() prediction {
	s := f.victim.wire.Session()
	slack := defaultSlack
	if d, err := time.ParseDuration(f.st.scenario.Params["slack"]); err == nil {
		slack = d
	}
	unheard := s.Timeout / 3
	if s.ID == f.session {
		unheard = max(0, f.hitAt-s.LastAckSent)
	}
	return f.cause.predict(s.Timeout, f.st.members.ensemble.Tick, unheard, slack, f.leads)
}

func (f *failoverRound) record() {
	p, r, claim := f.predict(), &f.seen, f.held.claim
	r.At, r.Phase, r.Round, r.Cause = f.st.clock.Now(), f.st.phase.Name, f.st.round, f.cause.name
	r.Client, r.Session, r.Token, r.Path = f.victim.n, f.session, claim.Token, claim.Path
	r.Timeout, r.Injected = f.victim.wire.Session().Timeout, f.hitAt
	r.Least, r.Most, r.Mean, r.Expires = p.least, p.most, max(p.mean, 0), f.cause.expires
	f.st.record.Record(r)
}
