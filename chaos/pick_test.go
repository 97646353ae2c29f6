package chaos

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPickMember_findsEachKindOfMember(t *testing.T) {
	target := shared(t)
	leader, err := ensembles.Leader(t.Context(), target.Ensemble)
	must(t, err)
	seen := map[string]int{}
	for i := range 6 {
		target.Random = func(n int) int { return i % n }
		for _, who := range []string{Leader, Follower, Any} {
			v, err := pickMember(t.Context(), target, who)
			must(t, err)
			seen[who+" "+v.String()]++
			if (who == Leader) != (v.Member == leader) && who != Any {
				t.Errorf("%s is %s, and the leader is %s", who, v, leader.Name)
			}
		}
	}
	if len(seen) != 1+2+3 {
		t.Errorf("picked %v", seen)
	}
	v, err := pickMember(t.Context(), target, target.Ensemble.Members[1].Addr)
	if err != nil || v.Name != "zk2" {
		t.Errorf("by address: %v, %v", v, err)
	}
	if _, err := pickMember(t.Context(), target, "leeder"); err == nil || !strings.Contains(err.Error(), "use leader, follower, any, observer or") {
		t.Errorf("a name with a slip: %v", err)
	}
}

func TestPickMember_saysWhyThereIsNone(t *testing.T) {
	gone := Target{Ensemble: &ensembles.Ensemble{Members: []*ensembles.Member{{Name: "zk1", Addr: "127.0.0.1:1"}}}}
	for _, who := range []string{Leader, Follower, Any} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := pickMember(ctx, gone, who); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", who, err)
		}
	}
}

func TestPickClient_waitsForAHolder(t *testing.T) {
	l := connect(t, shared(t), 2, 10*time.Second)
	var asked atomic.Int32
	l.Holder = func(bool) int {
		if asked.Add(1) < 5 {
			return -1
		}
		return 1
	}
	n, name, err := pickClient(t.Context(), l.Target, Holder)
	if err != nil || n != 1 || name != "client 1 (holder)" {
		t.Errorf("got %d, %q, %v", n, name, err)
	}
}

// The clients of a queue hold nothing: who aims at a holder there hits any of them.
func TestPickClient_takesAnyWhereNobodyCanHold(t *testing.T) {
	l := connect(t, shared(t), 3, 10*time.Second)
	l.Target.Holder = nil
	seen := map[int]bool{}
	for i := range 3 {
		l.Target.Random = func(n int) int { return i % n }
		n, name, err := pickClient(t.Context(), l.Target, Holder)
		must(t, err)
		if strings.Contains(name, "holder") {
			t.Errorf("picked %q, who holds nothing", name)
		}
		seen[n] = true
	}
	if len(seen) != 3 {
		t.Errorf("picked %v of 3", seen)
	}
}
