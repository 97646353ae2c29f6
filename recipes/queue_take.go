package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

func (q *Queue) takeFirst(ctx context.Context, take func(*item) (taken bool, err error)) (_ *item, empty bool, err error) {
	paths, err := q.items(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, path := range paths {
		item, err := q.read(ctx, path)
		if err != nil {
			return nil, false, err
		}
		if item == nil {
			continue
		}
		switch taken, err := take(item); {
		case taken:
			return item, false, nil
		case Indeterminate(err):
			return item, false, err
		case err != nil:
			return nil, false, err
		}
	}
	return nil, len(paths) == 0, nil
}

func (q *Queue) takeHead(ctx context.Context) (*item, error) {
	for {
		got, empty, err := q.takeFirst(ctx, func(i *item) (bool, error) { return q.delete(ctx, i.path) })
		if got != nil || empty || err != nil {
			return got, err
		}
	}
}

// delete removes an item. taken is false if another consumer was faster. After a lost reply it tries again
// if the item still exists; otherwise the outcome is unknown and it returns an error.
func (q *Queue) delete(ctx context.Context, path string) (taken bool, err error) {
	for {
		err := q.s.Delete(ctx, path)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, zk.ErrNoNode):
			return false, nil
		case !errors.Is(err, ErrConnectionLost):
			return false, err
		}
		if unknown := q.s.barrier(ctx, path+"-barrier"); unknown != nil {
			return false, fmt.Errorf("take %s: %w", path, errors.Join(err, unknown))
		}
		stat, unknown := q.s.Exists(ctx, path)
		if unknown != nil || stat == nil {
			return false, fmt.Errorf("take %s: %w", path, errors.Join(err, unknown))
		}
	}
}

// takeParent takes an item in the parent variant. It sets a watch only after it has seen the queue empty,
// so that taking an item notifies no consumer.
func (q *Queue) takeParent(ctx context.Context) (*item, error) {
	for {
		if item, err := q.takeHead(ctx); item != nil || err != nil {
			return item, err
		}
		if err := q.awaitItems(ctx); err != nil {
			return nil, err
		}
	}
}

func (q *Queue) awaitItems(ctx context.Context) error {
	got, err := q.s.list(ctx, q.parent, true)
	if errors.Is(err, zk.ErrNoNode) {
		return q.s.MakePath(ctx, q.parent)
	}
	if err != nil || len(sortedNodes(got.names, itemPrefix)) > 0 {
		return err
	}
	_, err = q.s.wake(ctx, got.watch)
	return err
}

func (q *Queue) takePredecessor(ctx context.Context) (*item, error) {
	c := contest{s: q.s, parent: q.parent + "/" + ticketNode, prefix: ticketPrefix, variant: Predecessor}
	for {
		ticket, err := c.acquire(ctx)
		if err != nil {
			return nil, err
		}
		// Neither item nor error means that the ticket was lost: join again.
		if item, err := q.takeInTurn(ctx, ticket); item != nil || err != nil {
			return item, err
		}
	}
}

// takeInTurn takes an item, or waits for one, as the head of the line, and always gives up the ticket. It
// returns neither item nor error if the ticket was lost.
func (q *Queue) takeInTurn(ctx context.Context, ticket *Grant) (*item, error) {
	left := false // whether the ticket was deleted together with an item
	defer func() {
		if !left {
			ticket.Release(ctx)
		}
	}()
	for {
		got, _, err := q.takeFirst(ctx, func(i *item) (_ bool, err error) {
			left, err = q.leaveWith(ctx, i, ticket)
			return left, err
		})
		switch {
		case left:
			ticket.release.Do(func() { ticket.end() })
			return got, nil
		case errors.Is(err, ErrGrantLost):
			return nil, nil
		case err != nil:
			return got, err
		}
		if err := q.awaitItems(ctx); err != nil {
			return nil, err
		}
	}
}

// leaveWith deletes the item and our ticket in one transaction, which takes the item and notifies the
// next in line. After a lost reply the ticket shows the outcome, since only we delete it: if it does not
// exist, this client took the item.
func (q *Queue) leaveWith(ctx context.Context, item *item, ticket *Grant) (left bool, err error) {
	for {
		err := q.s.multi(ctx, &zk.DeleteRequest{Path: item.path, Version: -1}, &zk.DeleteRequest{Path: ticket.Path, Version: -1}, markRequest(ticket.markAt, ticket.Path))
		switch {
		case err == nil:
			return true, nil
		case !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, ErrConnectionLost):
			return false, err
		}
		lost := errors.Is(err, ErrConnectionLost)
		stat, unknown := ticket.stat(ctx)
		switch {
		case unknown != nil:
			return false, errors.Join(err, unknown)
		case stat == nil && lost:
			return true, nil
		case stat == nil:
			return false, ErrGrantLost
		case !lost:
			return false, nil // a consumer outside the line took the item
		}
	}
}
