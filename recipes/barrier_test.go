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
				ctx, observer, tap := within(t, 60*time.Second), open(t, nil), wire.New(clock())
				path := madePath(t, observer)
				var members []*Barrier
				for i := range n {
					members = append(members, NewBarrier(open(t, tap.Client(i+1).Dial), path, n, v))
				}
				for generation := range 2 {
					var passed []<-chan outcome[*Grant]
					var base wire.Counts
					for i, b := range members {
						for j := range passed {
							if len(passed[j]) > 0 {
								t.Fatalf("member %d passed before the last one had entered", j)
							}
						}
						base = tap.Totals() // before the last one enters
						passed = append(passed, begin(ctx, b.Enter))
						if i < n-1 {
							standing(t, observer, path, barrierPrefix, i+1)
							still(t, tap)
						}
					}
					var grants []*Grant
					for i := range n {
						grants = append(grants, (<-passed[i]).must(t))
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
						must(t, <-left)
					}
					if got, want := costOf(tap.Totals().Sub(base)), barrierFormulas[v].Drain(n, n); got != want {
						t.Errorf("generation %d: %+v on the wire, %+v by the formula", generation+1, got, want)
					}
				}
			})
		}
	}
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
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, path := within(t, 60*time.Second), madePath(t, open(t, nil))
		var mu sync.Mutex
		entered, leaving := map[int]int{}, map[int]int{}
		count := func(of map[int]int, generation, more int) int {
			mu.Lock()
			defer mu.Unlock()
			of[generation] += more
			return of[generation]
		}
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
					count(entered, k, 1)
					g, err := b.Enter(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					if is := count(entered, k, 0); is != n {
						t.Errorf("client %d passed when %d of %d had entered", i, is, n)
					}
					count(leaving, k, 1)
					if err := b.Leave(ctx, g); err != nil {
						t.Error(err)
						return
					}
					if is := count(leaving, k, 0); is != n {
						t.Errorf("client %d left when %d of %d were leaving", i, is, n)
					}
				}
			})
		}
		all.Wait()
	})
}

// A member that dies inside keeps the others only until its session expires; one that dies while it
// waits is replaced.
func TestBarrier_outlivesItsMembers(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, observer := within(t, 60*time.Second), open(t, nil)
		path := madePath(t, observer)
		gone := open(t, nil)
		join(t, observer, path, barrierPrefix, 1, NewBarrier(gone, path, 3, v).Enter)
		gone.Close()
		standing(t, observer, path, barrierPrefix, 0)
		var members []*Barrier
		var entering []<-chan outcome[*Grant]
		for i := range 3 {
			members = append(members, NewBarrier(open(t, nil), path, 3, v))
			entering = append(entering, join(t, observer, path, barrierPrefix, i+1, members[i].Enter))
		}
		left := make(chan error, 2)
		for i, b := range members {
			g := (<-entering[i]).must(t)
			if i < 2 {
				go func() { left <- b.Leave(ctx, g) }()
			}
		}
		select {
		case err := <-left:
			t.Fatalf("left beside a member that had not: %v", err)
		case <-time.After(300 * time.Millisecond):
		}
		members[2].s.Close()
		for range 2 {
			must(t, <-left)
		}
	})
}
