package chaos

import (
	"context"
	"testing"
	"time"
)

func TestRequestHold_lastsUntilItHeals(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	took := l.askOften(ctx, 0)
	e := inject(t, parse(t, "request.hold", "0", "op", "exists", "nth", "2"), l.Target)
	for len(took) > 0 { // answered before
		<-took
	}
	if n := l.Clients[0].Counts().Queued; n == 0 {
		t.Error("nothing is kept back")
	}
	begin := time.Now()
	const held = 100 * time.Millisecond
	select {
	case <-took:
		t.Errorf("a held request was answered %v later", time.Since(begin))
	case <-time.After(held):
	}
	must(t, e.Heal(t.Context()))
	must(t, e.Heal(t.Context()))
	if d := <-took; d < held {
		t.Errorf("the request that was held for %v took %v", held, d)
	}
}
