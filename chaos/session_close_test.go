package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
)

func TestSessionClose_endsTheSessionAndItsNodes(t *testing.T) {
	target := shared(t)
	for _, row := range []struct{ who, want string }{
		{Holder, "client 0 (holder)"},
		{Waiter, "client 1 (waiter)"},
		{"1", "client 1"},
		{"client 1", "client 1"},
		{Random, "client 0"},
	} {
		t.Run(row.who, func(t *testing.T) {
			l := connect(t, target, 2, 10*time.Second)
			n := 0
			if strings.Contains(row.want, "1") {
				n = 1
			}
			victim, id := l.conns[n], l.Clients[n].Session().ID
			path := "/close-" + strings.ReplaceAll(row.who, " ", "-")
			_, err := victim.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			must(t, err)
			begin := time.Now()
			effect, err := parse(t, "session.close", row.who).Inject(t.Context(), l.Target)
			took := time.Since(begin)
			must(t, err)
			if effect.Target != row.want || effect.Client != n || effect.Proof == "" || effect.Undo != nil {
				t.Errorf("effect %+v", effect)
			}
			t.Logf("%v: %s", took, effect.Proof)
			if e := l.await(t, n, wire.Expired); e.Session != id {
				t.Errorf("session %#x expired, not %#x", e.Session, id)
			}
			other := l.conns[1-n]
			if _, err := other.Sync("/"); err != nil {
				t.Fatal(err)
			}
			if there, _, err := other.Exists(path); err != nil || there {
				t.Errorf("its node is there: %v, %v", there, err)
			}
			if l.Clients[1-n].Session().Expired {
				t.Error("the other client's session is gone too")
			}
		})
	}
}

func TestSessionClose_asksAMemberThatAnswers(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	m, err := l.Ensemble.Member(l.Clients[0].Session().Server)
	must(t, err)
	must(t, m.Machine.Pause(t.Context()))
	defer m.Machine.Resume(context.Background())
	begin := time.Now()
	_, err = parse(t, "session.close", Holder).Inject(t.Context(), l.Target)
	must(t, err)
	t.Logf("past a frozen member in %v", time.Since(begin))
	must(t, m.Machine.Resume(t.Context()))
	l.await(t, 0, wire.Expired)
}

func TestSessionClose_refusesWhereThereIsNothingToClose(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	nobody := l.Target
	nobody.Holder = func(bool) int { return -1 }
	for _, row := range []struct {
		name   string
		target Target
		who    string
		want   string
	}{
		{"a holder where nobody holds", nobody, Holder, "nobody holds a grant"},
		{"a waiter where all hold", l.Target, Waiter, "none of 1 clients"},
		{"a client that is not there", l.Target, "7", "client 7 of 1 has no session"},
		{"a word that is no client", l.Target, "hodler", `use "holder"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := onClient(row.who, closeSession)(ctx, row.target); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	// A session that somebody else has closed is not this fault's doing.
	l.Clients[0].Gate(true)
	endSession(t, l, 0)
	if e, err := parse(t, "session.close", "0").Inject(t.Context(), l.Target); !errors.Is(err, ErrNoEffect) || e.Target != "" || e.Proof != "" {
		t.Errorf("a session that was gone before: %+v, %v", e, err)
	}
}

// A client whose session another fault has ended counts as the holder until it hears
// of it. The fault goes on to who holds next.
func TestSessionClose_picksAgainWhereTheSessionWasGone(t *testing.T) {
	l := connect(t, shared(t), 2, 10*time.Second)
	l.Clients[0].Gate(true)
	gone := endSession(t, l, 0)
	picks := 0
	l.Target.Holder = func(bool) int {
		picks++
		if picks <= 2 {
			return 0 // which is yet to hear of it
		}
		return 1
	}
	effect, err := parse(t, "session.close", Holder).Inject(t.Context(), l.Target)
	must(t, err)
	if effect.Client != 1 || picks != 3 {
		t.Errorf("hit client %d after %d picks; session %#x was gone before", effect.Client, picks, gone)
	}
	l.await(t, 1, wire.Expired)
}

// endSession closes a client's session behind its back, and returns the session once
// no member knows it: they hear of it one after the other, and until then one may take
// it in again.
func endSession(t *testing.T, l *clients, n int) int64 {
	s := l.Clients[n].Session()
	must(t, s.CloseAt(t.Context(), s.Server))
	for _, addr := range l.Ensemble.Servers() {
		must(t, poll(t.Context(), sessionCloseLimit, func(ctx context.Context) error {
			if still, err := s.KnownAt(ctx, addr); err != nil || still {
				return fmt.Errorf("%s still knows it: %v, %v", addr, still, err)
			}
			return nil
		}))
	}
	return s.ID
}

// BenchmarkSessionClose measures a whole injection, proof included.
func BenchmarkSessionClose(b *testing.B) {
	target := Target{Ensemble: ensemble(b, ensembles.Options{})}
	var all []time.Duration
	for b.Loop() {
		b.StopTimer()
		l := connect(b, target, 1, 30*time.Second)
		b.StartTimer()
		begin := time.Now()
		_, err := parse(b, "session.close", Holder).Inject(b.Context(), l.Target)
		all = append(all, time.Since(begin))
		must(b, err)
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1e3, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1e3, "p99-ms")
}
