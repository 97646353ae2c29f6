package chaos

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPartitionIsolate_cutsOneMemberOffFromAll(t *testing.T) {
	for kind := range kinds {
		e := start(t, kind, ensembles.Options{Tick: 500 * time.Millisecond})
		target := Target{Ensemble: e, Network: network(t, e)}
		for _, who := range []string{Leader, Follower, Any, "zk2"} {
			t.Run(string(kind)+" "+who, func(t *testing.T) { isolateOnce(t, target, who) })
		}
	}
}

func isolateOnce(t *testing.T, target Target, who string) {
	e := target.Ensemble
	must(t, ensembles.WaitServing(t.Context(), e))
	begin := time.Now()
	effect, err := parse(t, "partition.isolate", who).Inject(t.Context(), target)
	must(t, err)
	t.Logf("%s: %s (%v)", effect.Target, effect.Proof, time.Since(begin))
	defer effect.Heal(context.Background())
	m, err := e.Member(effect.Target[:3])
	must(t, err)
	if connectsTo(m.Addr) {
		t.Error("it still accepts connections")
	}
	if who == Leader {
		within(t, 30*time.Second, "the others elect another leader", func() bool {
			l, err := ensembles.Leader(t.Context(), e)
			return err == nil && l != m
		})
	}
	begin = time.Now()
	must(t, effect.Heal(t.Context()))
	t.Logf("healed and back in quorum after %v", time.Since(begin))
	if s := ensembles.Status(t.Context(), e); !s[m.ID-1].Serves() {
		t.Errorf("healed, and it does not serve: %v", s[m.ID-1].Err)
	}
	must(t, effect.Heal(t.Context()))
}

func TestPartitionIsolate_refusesWhatItCannotCut(t *testing.T) {
	e := shared(t).Ensemble
	if _, err := parse(t, "partition.isolate", "zk1").Inject(t.Context(), Target{Ensemble: e}); !errors.Is(err, ErrSkipped) {
		t.Errorf("without a network: %v", err)
	}
	if _, err := parse(t, "partition.isolate", "zk9").Inject(t.Context(), Target{Ensemble: e}); err == nil {
		t.Error("a member that does not exist was cut off")
	}
	if !connectsTo(e.Members[0].Addr) {
		t.Error("the member was harmed")
	}
}
