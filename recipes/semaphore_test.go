package recipes

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// The formulas, counted on the wire of a real ensemble, after every release.
func TestSemaphoreFormulas_areWhatTheWireSees(t *testing.T) {
	const n = 6
	for _, v := range variants {
		for permits := 1; permits <= 3; permits++ {
			t.Run(fmt.Sprintf("%s/%d", v, permits), func(t *testing.T) {
				ctx, path := within(t, 60*time.Second), madePath(t, open(t, nil))
				c := &crowd{tap: wire.New(clock()), grants: make(chan *Grant, n)}
				var lists, gets int64
				for i := 1; i <= n; i++ {
					s := open(t, c.tap.Client(i).Dial)
					go func() {
						g, err := NewSemaphore(s, path, permits, v).Acquire(ctx)
						if err != nil {
							t.Error(err)
						}
						c.grants <- g
					}()
					waiting := max(i-1-permits, 0) // before this one
					lists++
					switch {
					case i <= permits:
					case v == Parent:
						lists += 1 + int64(waiting)
					case waiting == 0:
						lists++
					default: // the first waiter lists twice, when this one joins
						lists, gets = lists+2, gets+1
					}
					eventually(t, fmt.Sprintf("%d stand in line", i), func() bool {
						got := c.tap.Totals()
						return got.InFlight == 0 && got.Requests.Of(wire.GetChildren2) == lists && got.Requests.Of(wire.GetData) == gets
					})
				}
				c.base = c.tap.Totals()
				if len(c.grants) != permits {
					t.Fatalf("%d were granted, with %d permits", len(c.grants), permits)
				}
				c.drain(t, n, semaphoreFormulas(v, permits))
			})
		}
	}
}

// A waiter in the middle that gives up, and the first one, do not keep the others from their turn.
func TestSemaphore_passesThePermitOverWaitersThatLeft(t *testing.T) {
	for _, v := range variants {
		t.Run(string(v), func(t *testing.T) {
			ctx, path := within(t, 30*time.Second), madePath(t, open(t, nil))
			granted, left := make(chan int, 5), make(chan int, 5)
			var leave []context.CancelFunc
			var holds []*Grant
			observer := open(t, nil)
			for i := range 5 {
				mine, cancel := context.WithCancel(ctx)
				leave = append(leave, cancel)
				holds = append(holds, nil)
				s := open(t, nil)
				go func() {
					g, err := NewSemaphore(s, path, 1, v).Acquire(mine)
					if err != nil {
						left <- i
						return
					}
					holds[i] = g
					granted <- i
				}()
				eventually(t, "it stands in line", func() bool {
					names, err := observer.List(ctx, path)
					return err == nil && len(names) == i+1
				})
			}
			if first := <-granted; first != 0 {
				t.Fatalf("client %d was granted first", first)
			}
			for _, i := range []int{1, 3} {
				leave[i]()
				if got := <-left; got != i {
					t.Fatalf("client %d left, not %d", got, i)
				}
			}
			for _, next := range []int{2, 4} {
				for _, g := range holds {
					if g != nil && g.State() == Held {
						if err := g.Release(ctx); err != nil {
							t.Fatal(err)
						}
					}
				}
				select {
				case got := <-granted:
					if got != next {
						t.Fatalf("client %d was granted, not %d", got, next)
					}
				case <-ctx.Done():
					t.Fatalf("client %d was never granted", next)
				}
			}
		})
	}
}

// Readers hold together, a writer alone, and none overtakes a waiter that it conflicts with.
func TestRWLock(t *testing.T) {
	for _, v := range variants {
		t.Run(string(v), func(t *testing.T) {
			ctx, path := within(t, 30*time.Second), madePath(t, open(t, nil))
			observer := open(t, nil)
			type grant struct {
				client int
				*Grant
			}
			granted := make(chan grant, 8)
			for i, mode := range []Mode{Read, Read, Write, Read, Read, Write} {
				l := NewRWLock(open(t, nil), path, v)
				acquire := l.Acquire
				if mode == Read {
					acquire = l.AcquireShared
				}
				go func() {
					g, err := acquire(ctx)
					if err != nil {
						t.Error(err)
					}
					granted <- grant{i, g}
				}()
				eventually(t, "it stands in line", func() bool {
					names, err := observer.List(ctx, path)
					return err == nil && len(names) == i+1
				})
			}
			for _, together := range [][]int{{0, 1}, {2}, {3, 4}, {5}} {
				hold := map[int]*Grant{}
				for range together {
					g := <-granted
					if g.Grant == nil {
						return
					}
					hold[g.client] = g.Grant
				}
				for _, i := range together {
					if hold[i] == nil {
						t.Fatalf("%v hold, want %v", hold, together)
					}
				}
				for _, i := range together {
					if len(granted) > 0 {
						t.Fatalf("client %d was granted beside %v", (<-granted).client, together)
					}
					if err := hold[i].Release(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
