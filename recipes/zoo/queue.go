package zoo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

// queueSteps are the steps of a queue. A broken recipe replaces some of them; a nil step is done correctly.
type queueSteps struct {
	put func(ctx context.Context, q *queueClient, item []byte) error
	// order sorts the names of the items. The first is taken first.
	order func(names []string)
	// take removes an item. taken is false if another consumer was faster.
	take func(ctx context.Context, q *queueClient, path string, item []byte) (taken bool, err error)
	// wait returns when there may be an item. empty is a list without items, with a watch.
	wait func(ctx context.Context, q *queueClient, empty watched) error
}

func (s queueSteps) withDefaults() queueSteps {
	setDefault(&s.put, putOnce)
	setDefault(&s.order, func(names []string) {
		slices.SortFunc(names, func(a, b string) int { return int(number(a) - number(b)) })
	})
	setDefault(&s.take, takeConfirmed)
	setDefault(&s.wait, func(ctx context.Context, _ *queueClient, empty watched) error { return empty.wait(ctx) })
	return s
}

// queueClient is a client of a queue: persistent sequential nodes, taken by deletion.
type queueClient struct {
	env   recipes.Env
	steps queueSteps
	c     *conn
}

func (q *queueClient) Put(ctx context.Context, item []byte) error { return q.steps.put(ctx, q, item) }

// putOnce returns an indeterminate error if it does not know whether the item is stored.
func putOnce(ctx context.Context, q *queueClient, item []byte) error {
	_, err := q.c.create(ctx, q.env.Parent+"/"+client.NewID()+marker, item, zk.FlagSequence)
	return markReplyLost(err)
}

func (q *queueClient) Take(ctx context.Context) ([]byte, error) {
	for {
		w, err := q.c.watchChildren(ctx, q.env.Parent)
		if err != nil {
			return nil, err
		}
		names := slices.DeleteFunc(w.names, func(n string) bool { return !strings.Contains(n, marker) })
		q.steps.order(names)
		for _, n := range names {
			path := q.env.Parent + "/" + n
			item, err := retry(ctx, q.c, func() ([]byte, error) {
				data, _, err := q.c.Get(path)
				return data, err
			})
			if errors.Is(err, zk.ErrNoNode) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if taken, err := q.steps.take(ctx, q, path, item); taken || err != nil {
				return item, err
			}
		}
		if len(names) > 0 {
			continue // others took them all
		}
		if err := q.steps.wait(ctx, q, w); err != nil {
			return nil, err
		}
	}
}

func takeConfirmed(ctx context.Context, q *queueClient, path string, _ []byte) (taken bool, err error) {
	err = q.c.delete(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, markReplyLost(err)
}

func (q *queueClient) Close(context.Context) error {
	q.c.Close()
	return nil
}

func init() {
	// A queue that takes the item with the highest number first is a stack.
	registerQueue("queue-lifo", "takes the youngest item", queueSteps{
		order: func(names []string) {
			slices.SortFunc(names, func(a, b string) int { return int(number(b) - number(a)) })
		},
	})

	// Reading an item and deleting it are two requests. A consumer that returns the data before the delete is
	// confirmed may return an item that another consumer takes as well.
	registerQueue("queue-get-before-delete", "returns an item before its delete is confirmed", queueSteps{
		take: func(_ context.Context, q *queueClient, path string, _ []byte) (bool, error) {
			go func() { _ = q.c.Delete(path, -1) }() // does not wait for its reply
			return true, nil
		},
	})

	// The bug of missed-wakeup in a queue: a consumer that finds no item lists again with a watch, and waits
	// regardless of that list. An item that is put between the two lists notifies no consumer.
	registerQueue("queue-missed-wakeup", "finds the queue empty, lists again with a watch, and waits although the reply contains an item", queueSteps{
		wait: func(ctx context.Context, q *queueClient, _ watched) error {
			w, err := q.c.watchChildren(ctx, q.env.Parent)
			if err != nil {
				return err
			}
			return w.wait(ctx)
		},
	})

	registerQueue("queue-take-reply-lost", "discards the data when the reply to its delete was lost", queueSteps{
		take: func(ctx context.Context, q *queueClient, path string, _ []byte) (bool, error) {
			_, err := retry(ctx, q.c, q.c.deleting(path))
			if errors.Is(err, zk.ErrNoNode) {
				return false, nil
			}
			return err == nil, err
		},
	})

	// DistributedQueue.offer of ZooKeeper's recipes is a create; callers repeat it when the reply is
	// lost, and report that the item is in the queue once.
	registerQueue("queue-offer-retry", "puts an item again when the reply was lost, and reports a single put", queueSteps{
		put: func(ctx context.Context, q *queueClient, item []byte) error {
			_, err := retry(ctx, q.c, func() (string, error) {
				return q.c.Create(q.env.Parent+"/"+client.NewID()+marker, item, zk.FlagSequence, q.c.acl)
			})
			return err
		},
	})

	// A node that is created first and written to afterwards is an item without content in between. A consumer
	// may take the empty item, and always does if the producer fails before the second step.
	registerQueue("queue-put-in-two", "creates an empty node for an item, and writes the item into it afterwards", queueSteps{
		put: func(ctx context.Context, q *queueClient, item []byte) error {
			path, err := q.c.create(ctx, q.env.Parent+"/"+client.NewID()+marker, nil, zk.FlagSequence)
			if err == nil {
				_, err = q.c.Set(path, item, -1)
			}
			return markReplyLost(err)
		},
	})
}
