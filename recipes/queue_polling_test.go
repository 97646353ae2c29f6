package recipes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestQueuePolling_takesByEveryCallThatDoesNotWait(t *testing.T) {
	ctx, path := within(t, 30*time.Second), freshPath()
	c := &pollingClient{queueClient: queueClient{NewQueue(open(t, nil), path, Parent)}}
	for i := range 4 {
		if err := c.Put(ctx, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 { // peek and poll, element and remove in turns
		if item, err := c.Take(ctx); err != nil || string(item) != fmt.Sprint(i) {
			t.Fatalf("took %q, %v, want %d", item, err, i)
		}
	}
	for range 2 {
		waiting, cancel := context.WithTimeout(ctx, 3*pollPause)
		if item, err := c.Take(waiting); item != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an empty queue brought %q, %v", item, err)
		}
		cancel()
	}
}
