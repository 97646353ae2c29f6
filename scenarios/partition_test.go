package scenarios

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// A member that is cut off from the others goes on answering the pings of its clients
// until after their sessions have expired. When it hears from the others again, it
// first tells its waiters of the node before theirs going. Nobody must be let in by
// that.
//
// It needs a tick of 2 s: the cut lasts for a session timeout of two ticks and more,
// TCP sends again what was lost 6.2 s after the cut, and by then the member must not
// have given up its leader, which it does after 5 ticks (syncLimit).
func TestPartition_peersOfTheWaitersMember(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	e := startEnsemble(t, ensembles.Options{Members: 3, Tick: 2 * time.Second})
	network, err := network.Open(t.Context(), e)
	if errors.Is(err, chaos.ErrSkipped) {
		t.Skip(err)
	}
	must(t, err)
	defer network.Close(context.Background())
	r := newRunner(t)
	r.ensemble, r.network = e, network
	for _, trial := range trialsOf(t, r.play(t, `{name: peers, subjects: [lock/predecessor], clients: [6], session_timeout: 4s,
		phases: [{name: peers, kind: churn, duration: 13s, hold: 20ms, faults: [{at: 1s, fault: partition.peers, target: follower, for: 4s}]}],
		thresholds: [verdicts == pass]}`)) {
		sound(t, trial)
		for _, v := range trial.Verdicts {
			// The checker excuses a late grant to a client that could not know. Ours can.
			if slices.ContainsFunc(v.Reasons, func(s string) bool {
				return strings.Contains(s, "late grants") || strings.Contains(s, "exposures")
			}) {
				t.Errorf("%s: %s: %q", trial.Name, v.Guarantee, v.Reasons)
			}
		}
		if m := trial.Metrics[metrics.RecoveryTime]; m.Count == nil || *m.Count != 1 {
			t.Errorf("%s: the ensemble should have recovered from a partition: %+v", trial.Name, m)
		}
	}
	t.Run("one that does not answer is behind", func(t *testing.T) {
		o, member := observer.NewObserver(e, 4*time.Second, "/behind"), e.Members[0]
		defer o.Close()
		behind := func() bool { return o.AwaitCaughtUp(t.Context(), member.Addr) != nil }
		if behind() {
			t.Error("before it was stopped")
		}
		must(t, member.Machine.Pause(t.Context()))
		if !behind() {
			t.Error("it is stopped, and has caught up")
		}
		must(t, member.Machine.Resume(t.Context()))
		if err := stage.Poll(t.Context(), 20*time.Second, func(context.Context) (bool, error) { return !behind(), nil }); err != nil {
			t.Error(err)
		}
	})
}
