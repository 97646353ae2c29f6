package recipes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// The formulas, counted on the wire of a real ensemble, after every release.
func TestSemaphoreFormulas_areWhatTheWireSees(t *testing.T) {
	const n = 6
	for _, v := range variants {
		for permits := 1; permits <= 3; permits++ {
			t.Run(fmt.Sprintf("%s/%d", v, permits), func(t *testing.T) {
				bind := func(s *Session, path string) acquirer { return NewSemaphore(s, path, permits, v).Acquire }
				c := queueUp(t, n, bind, func(i int) (lists, gets int64) {
					waiting := int64(i - 1 - permits) // before this one
					switch {
					case waiting < 0:
						return 1, 0
					case v == Parent:
						return 2 + waiting, 0
					case waiting == 0:
						return 2, 0
					}
					return 3, 1 // the first waiter lists twice, when this one joins
				})
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
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, observer := within(t, 30*time.Second), open(t, nil)
		path := madePath(t, observer)
		var leave []context.CancelFunc
		var clients []<-chan outcome[*Grant]
		for i := range 5 {
			mine, cancel := context.WithCancel(ctx)
			defer cancel()
			leave = append(leave, cancel)
			clients = append(clients, begin(mine, NewSemaphore(open(t, nil), path, 1, v).Acquire))
			standing(t, observer, path, semaphorePrefix, i+1)
		}
		holder := (<-clients[0]).must(t)
		for _, i := range []int{1, 3} {
			leave[i]()
			if err := (<-clients[i]).err; !errors.Is(err, context.Canceled) {
				t.Fatalf("client %d left with %v", i, err)
			}
		}
		for i, next := range []int{2, 4} {
			if granted := len(clients[2]) + len(clients[4]); granted != 0 {
				t.Fatalf("%d clients were granted before release %d", granted, i+1)
			}
			release(t, holder)
			holder = (<-clients[next]).must(t)
		}
	})
}

// Readers hold together, a writer alone, and none overtakes a waiter that it conflicts with.
func TestRWLock(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		observer := open(t, nil)
		path := madePath(t, observer)
		var clients []<-chan outcome[*Grant]
		for i, mode := range []Mode{Read, Read, Write, Read, Read, Write} {
			l := NewRWLock(open(t, nil), path, v)
			acquire := l.Acquire
			if mode == Read {
				acquire = l.AcquireShared
			}
			clients = append(clients, begin(within(t, 30*time.Second), acquire))
			eventually(t, "it stands in line", func() bool {
				names, err := observer.List(t.Context(), path)
				return err == nil && len(names) == i+1
			})
		}
		for _, together := range [][]int{{0, 1}, {2}, {3, 4}, {5}} {
			var hold []*Grant
			for _, i := range together {
				hold = append(hold, (<-clients[i]).must(t))
			}
			for n, g := range hold {
				for i := together[len(together)-1] + 1; i < len(clients); i++ {
					if len(clients[i]) > 0 {
						t.Fatalf("client %d was granted while %v hold, %d of them no longer", i, together, n)
					}
				}
				release(t, g)
			}
		}
	})
}
