package scenarios

import (
	"context"
	"slices"
	"sync"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// produce has client 0 put n items, one after the other.
func (p *provoked) produce(ctx context.Context, n int) {
	c := p.st.clients[0]
	for range n {
		c.calls.Add(1)
		_, _ = c.putNext(ctx) // the history has it
	}
}

// takeAll has the consumers take until the queue is seen empty.
func (p *provoked) takeAll(ctx context.Context, consumers []*client) error {
	stop := p.consumers(ctx, consumers)
	defer stop()
	return p.st.emptied(ctx, grantLimit)
}

// consumers has them take until stopped.
func (p *provoked) consumers(ctx context.Context, consumers []*client) (stop func()) {
	taking, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, c := range consumers {
		all.Go(func() { c.consume(taking, func(string) {}) })
	}
	return func() { cancel(); all.Wait() }
}

// items returns the identities of what is in the queue, by path.
func (p *provoked) items(ctx context.Context) (map[string]string, error) {
	found, err := p.st.observer.nodes(ctx, p.st.parent)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	return out, p.st.observer.any(ctx, 4*tryFor, func(ctx context.Context, s *recipes.Session) error {
		for _, n := range found {
			if n.owner != 0 || !sequentialName.MatchString(n.path) {
				continue
			}
			if data, _, err := s.Get(ctx, n.path); err == nil {
				out[n.path] = identity(data)
			}
		}
		return nil
	})
}

// takeReplyLost loses the reply to a consumer's delete.
func takeReplyLost(ctx context.Context, p *provoked) error {
	p.produce(ctx, 4)
	items, err := p.items(ctx)
	if err != nil {
		return err
	}
	shots, err := p.aimAtDeletes(1, wire.DropReply)
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		if proof, ok := p.hit(ctx, shots...); ok && proof.Committed() {
			p.st.record.Record(&history.Committed{At: p.st.clock.Now(), Client: proof.Client, Session: proof.Session,
				Path: proof.Path, Zxid: proof.Zxid, Item: items[proof.Path]})
		}
	})
	return p.takeAll(ctx, p.st.clients[1:])
}

// aimAtDeletes aims at the request that takes an item, whether it is a delete or a
// transaction.
func (p *provoked) aimAtDeletes(i int, act wire.Act) ([]*wire.Shot, error) {
	var shots []*wire.Shot
	for _, op := range []wire.Op{wire.Delete, wire.Multi} {
		s, err := p.aim(i, wire.Rule{Op: op, Path: p.st.parent + "/*", Act: act})
		if err != nil {
			return nil, err
		}
		shots = append(shots, s)
	}
	return shots, nil
}

// putReplyLost loses the reply to a producer's create.
func putReplyLost(ctx context.Context, p *provoked) error {
	shot, err := p.aim(0, wire.Rule{Op: wire.Create, Path: p.st.parent + "/*", Act: wire.DropReply})
	if err != nil {
		return err
	}
	p.produce(ctx, 3)
	p.hit(ctx, shot)
	return p.takeAll(ctx, p.st.clients[1:])
}

// race holds the deletes of both consumers until both have sent theirs, or until it
// is clear that only one of them will.
func race(ctx context.Context, p *provoked) error {
	p.produce(ctx, 6)
	var shots []*wire.Shot
	for i := 1; i <= 2; i++ {
		more, err := p.aimAtDeletes(i, wire.HoldRequest)
		if err != nil {
			return err
		}
		shots = append(shots, more...)
	}
	var taken sync.WaitGroup
	taken.Go(func() {
		held := 0
		_ = poll(ctx, stillLimit, func(context.Context) (bool, error) { // one of them may wait in line
			held = 0
			for _, c := range p.st.clients[1:] {
				if c.wire.Counts().Queued > 0 {
					held++
				}
			}
			return held == 2, nil
		})
		for _, s := range shots {
			select {
			case proof, ok := <-s.Fired():
				if ok {
					p.record(proof, p.st.clock.Now())
				}
			default:
			}
			s.Release()
			s.Disarm()
		}
	})
	err := p.takeAll(ctx, slices.Clone(p.st.clients[1:]))
	taken.Wait()
	return err
}

// putThenTake puts five items, which are then taken.
func putThenTake(ctx context.Context, p *provoked) error {
	p.produce(ctx, 5)
	return p.takeAll(ctx, p.st.clients[1:])
}

// putBetween holds a consumer's second list, which who found the queue empty needs
// only if its first left no watch, until an item has been put.
func putBetween(ctx context.Context, p *provoked) error {
	shot, err := p.aim(1, wire.Rule{Op: wire.GetChildren2, Path: p.st.parent, Nth: 2, Act: wire.HoldRequest})
	if err != nil {
		return err
	}
	stop := p.consumers(ctx, p.st.clients[1:])
	defer stop()
	// Who asks once only, with a watch, cannot be told too late of what came between.
	asked := false
	var still stillness
	_ = poll(ctx, grantLimit, func(context.Context) (bool, error) {
		now := p.st.clients[1].wire.Counts()
		asked = now.Queued > 0
		return asked || still.see(now) && now.Requests.Of(wire.GetChildren2) > 0, nil
	})
	p.produce(ctx, 2) // of one item nobody could say in which order it came
	if asked {
		if err := p.everywhere(ctx, 2); err != nil {
			return err
		}
		p.hit(ctx, shot)
	}
	shot.Release()
	shot.Disarm()
	return p.st.emptied(ctx, grantLimit)
}
