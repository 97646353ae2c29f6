package chaos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
)

func TestParse_readsWhichRequest(t *testing.T) {
	k, err := KindOf("reply.drop")
	must(t, err)
	for _, op := range []wire.Op{wire.Any, wire.Create, wire.GetChildren2, wire.CloseSession, wire.WhoAmI} {
		s, err := k.settings(map[string]string{"op": op.String(), "path": "/lock/**", "nth": "2"})
		must(t, err)
		got := aim(wire.Rule{}, s)
		must(t, s.err())
		if want := (wire.Rule{Op: op, Path: "/lock/**", Nth: 2}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestDrop_hidesWhetherTheRequestWasCarriedOut(t *testing.T) {
	for _, row := range []struct {
		fault, nth, proof string
		created           bool
	}{
		{"request.drop", "1", "", false},
		{"reply.drop", "3", "dropped its reply: success", true},
	} {
		t.Run(row.fault, func(t *testing.T) {
			l := connect(t, shared(t), 1, 10*time.Second)
			unanswered := l.createUntilError(0, "/"+row.fault)
			f := parse(t, row.fault, "0", "op", "create", "path", "/"+row.fault+"-*", "nth", row.nth)
			e := inject(t, f, l.Target)
			path := <-unanswered
			if e.Client != 0 || !strings.Contains(e.Proof, path+" ") || !strings.Contains(e.Proof, row.proof) {
				t.Errorf("%s was not answered, and the effect is %+v", path, e)
			}
			var created bool
			within(t, 10*time.Second, "the client reconnects after the fault", func() bool {
				var err error
				created, _, err = l.conns[0].Exists(path)
				return err == nil
			})
			if created != row.created {
				t.Errorf("the node was created: %v", created)
			}
		})
	}
}

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

func TestReplyDrop_keepsTheConnectionWhereAsked(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, keep := range []string{"true", "false"} {
		l.askOften(ctx, 0)
		inject(t, parse(t, "reply.drop", "0", "op", "exists", "keep", keep), l.Target)
		if kept := l.Clients[0].Session().Server != ""; kept != (keep == "true") {
			t.Errorf("keep=%s: the connection was kept: %v", keep, kept)
		}
	}
}

func TestReplyDrop_hasNoEffectWhereNothingMatches(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	f := parse(t, "reply.drop", "0", "op", "delete", "within", "50ms")
	if _, err := f.Inject(t.Context(), l.Target); !errors.Is(err, ErrNoEffect) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("got %v", err)
	}
	// The rule is out of force: a delete is answered.
	if err := l.conns[0].Delete("/nobody", -1); !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("got %v", err)
	}
}
