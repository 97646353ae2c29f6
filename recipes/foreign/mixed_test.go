package foreign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// One queue serves ZooKeeper's own client and ours: each puts, and takes what the other
// has put, and nothing is lost or taken twice.
func TestQueue_isSharedByJavaAndGo(t *testing.T) {
	const each = 50
	path, resource := freshPath(t)
	var queues []recipes.QueueClient
	for _, name := range []string{"queue/zookeeper", "queue/parent"} {
		x := startTrial(t, name)
		for range 2 {
			queues = append(queues, x.open(t, path, resource).(recipes.QueueClient))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// The Go program begins when Java has taken an item: it would take all of them before.
	begin := make(chan struct{})
	wait := func(client int) {
		if client == 1 {
			select {
			case <-begin:
			case <-ctx.Done():
			}
		}
	}
	var want []string
	var putting, taking sync.WaitGroup
	for i, q := range []recipes.QueueClient{queues[0], queues[2]} {
		for n := range each {
			want = append(want, fmt.Sprintf("%d-%02d", i, n))
		}
		putting.Go(func() {
			wait(i)
			for n := range each {
				if err := q.Put(ctx, fmt.Appendf(nil, "%d-%02d", i, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var mu sync.Mutex
	var got []string
	by := map[int]int{} // how many each consumer took
	over, stop := context.WithCancel(ctx)
	for i, q := range []recipes.QueueClient{queues[1], queues[3]} {
		taking.Go(func() {
			wait(i)
			for over.Err() == nil {
				item, err := q.Take(over)
				if err != nil {
					if over.Err() == nil || errors.Is(over.Err(), context.DeadlineExceeded) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				got = append(got, string(item))
				if by[i]++; i == 0 && by[i] == 1 {
					close(begin)
				}
				if len(got) == len(want) {
					stop()
				}
				mu.Unlock()
			}
		})
	}
	putting.Wait()
	taking.Wait()
	stop()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("taken: %v", got)
	}
	if names, _, _ := eye.Children(path); len(names) > 0 {
		t.Errorf("left in the queue: %v", names)
	}
	t.Logf("Java took %d, Go %d", by[0], by[1])
	if by[0] == 0 || by[1] == 0 {
		t.Error("one of them took nothing: the queue was not shared")
	}
}
