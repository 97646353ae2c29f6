package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
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
	leads := func(v targetMember) bool { return v.mode != ensembles.ModeFollower }
	for who, want := range map[string]int{Minority: 1, Majority: 2} {
		picked, err := pickMembers(t.Context(), target, who)
		must(t, err)
		if len(picked) != want || slices.ContainsFunc(picked, leads) {
			t.Errorf("%s is %v, want followers first", who, picked)
		}
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
	l := connect(t, shared(t), 3, 10*time.Second)
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
	for _, who := range []string{"1", Holder} {
		v, err := pickMember(t.Context(), l.Target, MemberOf+who)
		must(t, err)
		if on := l.Clients[1].Session().Server; v.Addr != on || v.mode == "" {
			t.Errorf("the member of %s is %v, and the client is on %s", who, v, on)
		}
	}

	// The clients of a queue hold nothing: a fault that targets a holder hits any of them.
	l.Holder = nil
	seen := map[int]bool{}
	for i := range 3 {
		l.Random = func(n int) int { return i % n }
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

// shaped is an ensemble of so many members that vote, and observers, that answers nobody.
func shaped(voting, observers int) *ensembles.Ensemble {
	e := &ensembles.Ensemble{}
	for i := range voting + observers {
		e.Members = append(e.Members, &ensembles.Member{
			ID: i + 1, Name: fmt.Sprintf("zk%d", i+1), IP: fmt.Sprintf("10.0.0.%d", i+1), Addr: "127.0.0.1:1", Observer: i >= voting,
		})
	}
	return e
}

func TestSpare_leavesAQuorum(t *testing.T) {
	for voting, want := range map[int]int{1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3} {
		if got := tolerableLosses(shaped(voting, 2)); got != want {
			t.Errorf("of %d members %d may be lost, want %d", voting, got, want)
		}
	}
}

func TestNoTarget_saysWhatIsMissing(t *testing.T) {
	for _, row := range []struct {
		who               string
		voting, observers int
		want              string
	}{
		{Observer, 3, 0, "use --observers 1"},
		{Observer, 3, 1, ""},
		{Minority, 2, 1, "the loss of any of the 2 voting members would break the quorum"},
		{Minority, 3, 0, ""},
		{Majority, 1, 0, ""},
		{Leader, 1, 0, ""},
		{Holder, 1, 0, ""},
	} {
		err := CheckTarget(shaped(row.voting, row.observers), row.who)
		if (err == nil) != (row.want == "") || err != nil && (!errors.Is(err, ErrSkipped) || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s of %d members and %d observers: %v, want %q", row.who, row.voting, row.observers, err, row.want)
		}
	}
}

func TestHitAll_hitsAllOrNone(t *testing.T) {
	all := []targetMember{{shaped(2, 0).Members[0], "leader"}, {shaped(2, 0).Members[1], "follower"}}
	var mu sync.Mutex
	var done []string
	step := func(what string, v targetMember, err error) func(context.Context) error {
		return func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			done = append(done, what+" "+v.Name)
			return err
		}
	}
	t.Run("one effect of all", func(t *testing.T) {
		e, err := injectAll(t.Context(), Target{}, all, func(_ context.Context, _ Target, v targetMember) (Effect, error) {
			return Effect{Proof: "it is gone", ServedClients: []int{v.ID}, Undo: step("undo", v, nil), AwaitRecovery: step("back", v, nil)}, nil
		})
		must(t, err)
		must(t, e.Heal(t.Context()))
		if e.Target != "zk1 (leader), zk2 (follower)" || e.Proof != "zk1: it is gone; zk2: it is gone" || !slices.Equal(e.ServedClients, []int{1, 2}) {
			t.Errorf("got %+v", e)
		}
		if len(done) != 4 || strings.HasPrefix(done[1], "back") || strings.HasPrefix(done[2], "undo") {
			t.Errorf("healed by %v", done)
		}
	})
	t.Run("where one cannot be hit the others are healed", func(t *testing.T) {
		done = nil
		_, err := injectAll(t.Context(), Target{}, all, func(_ context.Context, _ Target, v targetMember) (Effect, error) {
			if v.Name == "zk2" {
				panic("of zk2")
			}
			return Effect{Undo: step("undo", v, nil)}, nil
		})
		if err == nil || !strings.Contains(err.Error(), "zk2 (follower): panic: of zk2") || errors.Is(err, ErrNotHealed) || !slices.Equal(done, []string{"undo zk1"}) {
			t.Errorf("got %v, after %v", err, done)
		}
	})
	t.Run("what cannot be healed is said", func(t *testing.T) {
		broken := errors.New("still there")
		_, err := injectAll(t.Context(), Target{}, all, func(_ context.Context, _ Target, v targetMember) (Effect, error) {
			if v.Name == "zk2" {
				return Effect{}, ErrNoEffect
			}
			return Effect{Undo: step("undo", v, broken)}, nil
		})
		if !errors.Is(err, ErrNotHealed) || !errors.Is(err, broken) || !errors.Is(err, ErrNoEffect) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("what leaves nothing to heal", func(t *testing.T) {
		e, err := injectAll(t.Context(), Target{}, all, func(context.Context, Target, targetMember) (Effect, error) { return Effect{}, nil })
		if err != nil || e.Undo != nil || e.AwaitRecovery != nil {
			t.Errorf("got %+v, %v", e, err)
		}
	})
}

type timed struct {
	wire.Client
	timeout time.Duration
}

func (c timed) Session() wire.Session { return wire.Session{Timeout: c.timeout} }

// A fault waits for a holder as long as sessions may have to expire before there is one.
func TestClientLimit_coversTheLosses(t *testing.T) {
	clients := []wire.Client{timed{timeout: 2 * time.Second}, timed{timeout: 4 * time.Second}}
	for losses, want := range map[int]time.Duration{0: 11 * time.Second, 1: 11 * time.Second, 3: 23 * time.Second} {
		if got := (Target{Clients: clients, MaxExpiries: losses}).clientLimit(); got != want {
			t.Errorf("%d losses: %v, want %v", losses, got, want)
		}
	}
}
