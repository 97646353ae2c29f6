package recipes

import (
	"context"
	"errors"
	"time"
)

func init() {
	Register(Subject{
		Name: "queue/polling", Recipe: RecipeQueue, Variant: Polling,
		About:    "ours, by the calls that do not wait: offer; peek or element every 20 ms until there is an item, then poll or remove. Confirmed deliveries are exactly once, fifo",
		Promises: Promises{FIFO: true, Delivery: ExactlyOnce},
		Open: func(ctx context.Context, env Env) (Client, error) {
			s, err := env.open(ctx)
			if err != nil {
				return nil, err
			}
			return &pollingClient{queueClient: queueClient{NewQueue(s, env.Parent, Parent)}}, nil
		},
	})
}

// pollPause is between two questions to an empty queue.
const pollPause = 20 * time.Millisecond

// pollingClient is a user of the queue's calls that do not wait. It takes turns with
// those that say nothing for an empty queue and those that say ErrEmpty.
type pollingClient struct {
	queueClient
	turns int
}

func (c *pollingClient) Put(ctx context.Context, item []byte) error {
	_, err := c.Offer(ctx, item)
	return err
}

// Take asks until there is an item and it is not somebody else who gets it.
func (c *pollingClient) Take(ctx context.Context) ([]byte, error) {
	look, take := c.Peek, c.Poll
	if c.turns++; c.turns%2 == 0 {
		look, take = c.Element, c.Remove
	}
	for {
		item, err := look(ctx)
		if err == nil && item != nil {
			item, err = take(ctx)
		}
		if item != nil || err != nil && !errors.Is(err, ErrEmpty) {
			return item, err
		}
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
