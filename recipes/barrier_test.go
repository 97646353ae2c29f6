package recipes

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// The formulas, counted on the wire of a real ensemble, over two generations.
func TestBarrierFormulas_areWhatTheWireSees(t *testing.T) {
	for _, v := range variants {
		for _, n := range []int{1, 2, 3, 7} {
			t.Run(fmt.Sprintf("%s/%d", v, n), func(t *testing.T) {
				ctx, path := within(t, 60*time.Second), madePath(t, open(t, nil))
				tap := wire.New(clock())
				var members []*Barrier
				for i := range n {
					members = append(members, NewBarrier(open(t, tap.Client(i+1).Dial), path, n, v))
				}
				observer := open(t, nil)
				for generation := range 2 {
					passed := make([]chan *Grant, n)
					enter := func(i int) {
						passed[i] = make(chan *Grant, 1)
						go func() {
							g, err := members[i].Enter(ctx)
							if err != nil {
								t.Error(err)
							}
							passed[i] <- g
						}()
					}
					for i := range n - 1 {
						enter(i)
						eventually(t, "it waits", func() bool {
							names, err := observer.List(ctx, path)
							return err == nil && len(names) == i+1
						})
						still(t, tap)
					}
					base := tap.Totals()
					for i := range n - 1 {
						if len(passed[i]) > 0 {
							t.Fatalf("member %d passed before the last one had entered", i)
						}
					}
					enter(n - 1)
					var grants []*Grant
					for i := range n {
						grants = append(grants, <-passed[i])
					}
					still(t, tap)
					left := make(chan error, n)
					for i := range n {
						if len(left) > 0 {
							t.Fatalf("%d of %d members left, and %v", i, n, <-left)
						}
						go func() { left <- members[i].Leave(ctx, grants[i]) }()
						still(t, tap)
					}
					for range n {
						if err := <-left; err != nil {
							t.Fatal(err)
						}
					}
					got, want := tap.Totals().Sub(base), barrierFormulas[v].Drain(n, n)
					if seen := seenCost(got); seen != want {
						t.Errorf("generation %d: %+v on the wire, %+v by the formula", generation+1, seen, want)
					}
				}
			})
		}
	}
}

func seenCost(c wire.Counts) Cost {
	lists, deletes := c.Requests.Of(wire.GetChildren)+c.Requests.Of(wire.GetChildren2), c.Requests.Of(wire.Delete)
	return Cost{Notifications: c.Notifications.Total(), Lists: lists, Deletes: deletes, Others: c.Requests.Total() - lists - deletes}
}

// still returns when no request or notification has passed the tap in 100 ms.
func still(t *testing.T, tap *wire.Tap) {
	t.Helper()
	last, since := tap.Totals(), time.Now()
	eventually(t, "nothing moves", func() bool {
		now := tap.Totals()
		if now.InFlight > 0 || now.Requests.Total() != last.Requests.Total() || now.Notifications != last.Notifications {
			last, since = now, time.Now()
		}
		return time.Since(since) > 100*time.Millisecond
	})
}

// Many generations, without an order: nobody passes before all have entered, or leaves before all
// leave, and a client that waits too long for the others gives up and keeps nobody from passing.
func TestBarrier_generations(t *testing.T) {
	const n, generations = 4, 25
	for _, v := range variants {
		t.Run(string(v), func(t *testing.T) {
			ctx, path := within(t, 60*time.Second), madePath(t, open(t, nil))
			var mu sync.Mutex
			entered, leaving := map[int]int{}, map[int]int{}
			var all sync.WaitGroup
			for i := range n {
				b := NewBarrier(open(t, nil), path, n, v)
				if i == 0 {
					short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
					if _, err := b.Enter(short); err == nil {
						t.Fatal("passed a barrier alone")
					}
					cancel()
				}
				all.Go(func() {
					for k := range generations {
						mu.Lock()
						entered[k]++
						mu.Unlock()
						g, err := b.Enter(ctx)
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						if entered[k] != n {
							t.Errorf("client %d passed when %d of %d had entered", i, entered[k], n)
						}
						leaving[k]++
						mu.Unlock()
						if err := b.Leave(ctx, g); err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						if leaving[k] != n {
							t.Errorf("client %d left when %d of %d were leaving", i, leaving[k], n)
						}
						mu.Unlock()
					}
				})
			}
			all.Wait()
		})
	}
}

// A member that dies inside keeps the others only until its session expires; one that dies while it
// waits is replaced.
func TestBarrier_outlivesItsMembers(t *testing.T) {
	for _, v := range variants {
		t.Run(string(v), func(t *testing.T) {
			ctx, path := within(t, 60*time.Second), madePath(t, open(t, nil))
			sessions := []*Session{open(t, nil), open(t, nil), open(t, nil), open(t, nil)}
			grants := make(chan *Grant, 3)
			enter := func(i int) *Barrier {
				b := NewBarrier(sessions[i], path, 3, v)
				go func() {
					if g, err := b.Enter(ctx); err == nil {
						grants <- g
					}
				}()
				return b
			}
			observer := open(t, nil)
			stand := func(n int) {
				eventually(t, fmt.Sprintf("%d wait", n), func() bool {
					names, err := observer.List(ctx, path)
					return err == nil && len(names) == n
				})
			}
			enter(0)
			stand(1)
			sessions[0].Close()
			stand(0)
			members := map[int64]*Barrier{}
			for i := 1; i <= 3; i++ {
				b := enter(i)
				members[sessions[i].ID()] = b
				stand(i)
			}
			a, b, dead := <-grants, <-grants, <-grants
			left := make(chan error, 2)
			go func() { left <- members[a.SessionID].Leave(ctx, a) }()
			go func() { left <- members[b.SessionID].Leave(ctx, b) }()
			select {
			case err := <-left:
				t.Fatalf("left beside a member that had not: %v", err)
			case <-time.After(300 * time.Millisecond):
			}
			members[dead.SessionID].s.Close()
			for range 2 {
				if err := <-left; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
