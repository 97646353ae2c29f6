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
func (p *provoked) produce(n int) {
	c := p.st.clients[0]
	for range n {
		c.calls.Add(1)
		_, _ = c.putNext(p.ctx) // the history has it
	}
}

// takeAll has all clients but the producer take until the queue is seen empty.
func (p *provoked) takeAll() {
	stop := p.consumers()
	defer stop()
	p.must(p.st.emptied(p.ctx, grantLimit))
}

// consumers has all clients but the producer take until stopped.
func (p *provoked) consumers() (stop func()) {
	taking, cancel := context.WithCancel(p.ctx)
	var all sync.WaitGroup
	for _, c := range p.st.clients[1:] {
		all.Go(func() { c.consume(taking, func(string) {}) })
	}
	return func() { cancel(); all.Wait() }
}

// items returns the identities of what is in the queue, by path.
func (p *provoked) items() map[string]string {
	found, err := p.st.observer.nodes(p.ctx, p.st.parent)
	p.must(err)
	out := map[string]string{}
	p.must(p.st.observer.any(p.ctx, 4*tryFor, func(ctx context.Context, s *recipes.Session) error {
		for _, n := range found {
			if n.owner != 0 || !sequential.MatchString(n.path) {
				continue
			}
			if data, _, err := s.Get(ctx, n.path); err == nil {
				out[n.path] = identity(data)
			}
		}
		return nil
	}))
	return out
}

// takeReplyLost loses the reply to a consumer's delete.
func takeReplyLost(p *provoked) {
	p.produce(4)
	items := p.items()
	shots := p.aimAtDeletes(1, wire.DropReply)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		if proof, ok := p.hit(shots...); ok && proof.Committed() {
			p.st.record.Record(&history.Committed{At: p.st.clock.Now(), Client: proof.Client, Session: proof.Session,
				Path: proof.Path, Zxid: proof.Zxid, Item: items[proof.Path]})
		}
	})
	p.takeAll()
}

// aimAtDeletes aims at the request that takes an item, whether it is a delete or a
// transaction.
func (p *provoked) aimAtDeletes(i int, act wire.Act) (shots []*wire.Shot) {
	for _, op := range []wire.Op{wire.Delete, wire.Multi} {
		shots = append(shots, p.aim(i, wire.Rule{Op: op, Path: p.st.parent + "/*", Act: act}))
	}
	return shots
}

// putReplyLost loses the reply to a producer's create.
func putReplyLost(p *provoked) {
	shot := p.aim(0, wire.Rule{Op: wire.Create, Path: p.st.parent + "/*", Act: wire.DropReply})
	p.produce(3)
	p.hit(shot)
	p.takeAll()
}

// race holds the deletes of both consumers until both have sent theirs, or until it
// is clear that only one of them will.
func race(p *provoked) {
	p.produce(6)
	shots := slices.Concat(p.aimAtDeletes(1, wire.HoldRequest), p.aimAtDeletes(2, wire.HoldRequest))
	var taken sync.WaitGroup
	defer taken.Wait()
	taken.Go(func() {
		held := 0
		_ = poll(p.ctx, stillLimit, func(context.Context) (bool, error) { // one of them may wait in line
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
			s.Disarm()
		}
	})
	p.takeAll()
}

// putThenTake puts five items, which are then taken.
func putThenTake(p *provoked) {
	p.produce(5)
	p.takeAll()
}

// putBetween holds a consumer's second list, which who found the queue empty needs
// only if its first left no watch, until an item has been put.
func putBetween(p *provoked) {
	shot := p.aim(1, wire.Rule{Op: wire.GetChildren2, Path: p.st.parent, Nth: 2, Act: wire.HoldRequest})
	stop := p.consumers()
	defer stop()
	// Who asks once only, with a watch, cannot be told too late of what came between.
	asked := false
	var still stillness
	_ = poll(p.ctx, grantLimit, func(context.Context) (bool, error) {
		now := p.st.clients[1].wire.Counts()
		asked = now.Queued > 0
		return asked || still.see(now) && now.Requests.Of(wire.GetChildren2) > 0, nil
	})
	p.produce(2) // of one item nobody could say in which order it came
	if asked {
		p.everywhere(2)
		p.hit(shot)
	}
	shot.Disarm()
	p.must(p.st.emptied(p.ctx, grantLimit))
}
