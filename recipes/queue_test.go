package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestQueue_hasTheMethodsOfTheJavaRecipe(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, path, s := within(t, 10*time.Second), freshPath(), open(t, nil)
		q := NewQueue(s, path, v)
		fetch := map[string]func(context.Context) ([]byte, error){
			"element": q.Element, "peek": q.Peek, "poll": q.Poll, "remove": q.Remove, "take": q.Take,
		}
		for _, row := range []struct {
			do, want string
			err      error
		}{
			{"element", "<nil>", ErrEmpty},
			{"peek", "<nil>", nil},
			{"poll", "<nil>", nil},
			{"remove", "<nil>", ErrEmpty},
			{"foreign children", "", nil},
			{"poll", "<nil>", nil},
			{"offer a", "", nil},
			{"offer b", "", nil},
			{"offer c", "", nil},
			{"offer d", "", nil},
			{"element", "a", nil},
			{"peek", "a", nil},
			{"poll", "a", nil},
			{"remove", "b", nil},
			{"take", "c", nil},
			{"peek", "d", nil},
			{"remove", "d", nil},
			{"peek", "<nil>", nil},
			{"offer ", "", nil}, // an empty item is an item
			{"peek", "", nil},
			{"take", "", nil},
			{"poll", "<nil>", nil},
		} {
			if item, offers := bytes.CutPrefix([]byte(row.do), []byte("offer ")); offers {
				if ok, err := q.Offer(ctx, item); !ok || err != nil {
					t.Errorf("%s: %v, %v", row.do, ok, err)
				}
				continue
			}
			if row.do == "foreign children" {
				for _, name := range []string{"config", "_c_x", "qn-", "qn-12"} {
					must(t, s.MakePath(ctx, path+"/"+name))
				}
				continue
			}
			item, err := fetch[row.do](ctx)
			got := string(item)
			if item == nil {
				got = "<nil>"
			}
			if got != row.want || !errors.Is(err, row.err) {
				t.Errorf("%s: %q, %v; want %q, %v", row.do, got, err, row.want, row.err)
			}
		}
	})
}

func TestQueue_takesItemsUpToZooKeepersLimit(t *testing.T) {
	ctx, path := within(t, 20*time.Second), freshPath()
	q := NewQueue(openWith(t, Options{Timeout: 10 * time.Second, MaxPacket: 2 << 20}), path, Parent)
	small := NewQueue(open(t, nil), path, Parent) // a session with 64 KiB
	if q.maxItemSize < 1<<20-500 {
		t.Errorf("room for %d bytes only", q.maxItemSize)
	}
	item := make([]byte, q.maxItemSize+1)
	for i := range item {
		item[i] = byte(i)
	}
	for _, q := range []*Queue{q, small} {
		largest := item[:q.maxItemSize]
		if err := q.Put(ctx, largest); err != nil {
			t.Fatalf("an item of exactly the limit, %d bytes: %v", len(largest), err)
		}
		if got, err := q.Take(ctx); err != nil || !bytes.Equal(got, largest) {
			t.Errorf("took %d bytes, %v; put %d", len(got), err, len(largest))
		}
		if err := q.Put(ctx, item[:q.maxItemSize+1]); !errors.Is(err, ErrItemTooLarge) || Indeterminate(err) {
			t.Errorf("one byte more: %v", err)
		}
	}
}

func TestQueue_deliversEveryItemOnceAndInOrder(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		const producers, consumers, each = 2, 4, 24
		ctx, path := within(t, 60*time.Second), freshPath()
		var mu sync.Mutex
		taken := map[string]int{}
		var all sync.WaitGroup
		for p := range producers {
			q := NewQueue(open(t, nil), path, v)
			all.Go(func() {
				for i := range each {
					if err := q.Put(ctx, fmt.Appendf(nil, "%d %d", p, i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for range consumers {
			q := NewQueue(open(t, nil), path, v)
			all.Go(func() {
				last := [producers]int{-1, -1}
				for range producers * each / consumers {
					item, err := q.Take(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					var p, i int
					fmt.Sscanf(string(item), "%d %d", &p, &i)
					if i <= last[p] {
						t.Errorf("producer %d's item %d came after its item %d", p, i, last[p])
					}
					last[p] = i
					mu.Lock()
					taken[string(item)]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if len(taken) != producers*each {
			t.Errorf("%d different items taken, %d put", len(taken), producers*each)
		}
		if item, err := NewQueue(open(t, nil), path, v).Poll(ctx); item != nil || err != nil {
			t.Errorf("left: %q, %v", item, err)
		}
	})
}

// Only the head of the line is woken by an item, and the next by the head's leaving.
func TestQueue_wakesTheHeadAloneForAnItem(t *testing.T) {
	ctx, path := within(t, 30*time.Second), freshPath()
	tap := wire.New(clock())
	got := make(chan []byte)
	taking, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	producer := NewQueue(open(t, nil), path, Predecessor)
	must(t, producer.s.MakePath(ctx, path+"/"+ticketNode))
	for i := range 5 {
		q := NewQueue(open(t, tap.Client(i).Dial), path, Predecessor)
		all.Go(func() {
			if item, err := q.Take(taking); err == nil {
				got <- item
			}
		})
		eventually(t, "it waits", func() bool {
			n := tap.Totals()
			// The head of the line watches the items, every other one a ticket.
			return n.InFlight == 0 && n.Requests.Of(wire.GetData) == int64(i) && n.Requests.Of(wire.GetChildren2) >= int64(i+3)
		})
	}
	before := tap.Totals()
	must(t, producer.Put(ctx, []byte("a")))
	<-got
	eventually(t, "the next heads the line", func() bool {
		n := tap.Totals().Sub(before)
		return n.InFlight == 0 && n.Notifications.Total() == 2 && n.Requests.Of(wire.Multi) == 1
	})
	stop()
	all.Wait()
}
