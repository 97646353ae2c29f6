package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

// produce has client 0 put n items, one after the other.
func (p *provoked) produce(ctx context.Context, n int) {
	c := p.clients[0]
	for k := range n {
		c.calls.Add(1)
		_ = c.put(ctx, fmt.Sprintf("item-%d", k), p.clock.Now()) // the history has it
	}
}

// takeAll has the consumers take until the lab sees the queue empty.
func (p *provoked) takeAll(ctx context.Context, consumers []*client) error {
	stop := p.consumers(ctx, consumers)
	defer stop()
	return p.drained(ctx)
}

// consumers has them take until stopped.
func (p *provoked) consumers(ctx context.Context, consumers []*client) (stop func()) {
	taking, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, c := range consumers {
		all.Go(func() {
			for taking.Err() == nil {
				_, _ = c.take(taking) // the history has it
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// drained returns when the lab has seen the queue empty, or has given up and recorded
// what stands in it and who waits.
func (p *provoked) drained(ctx context.Context) error {
	err := poll(ctx, 2*grantLimit, func(ctx context.Context) (bool, error) {
		items, err := p.items(ctx)
		return len(items) == 0, err
	})
	if err != nil {
		return p.lookStuck(ctx)
	}
	p.settled(ctx)
	p.record.Record(&history.Emptied{At: p.clock.Now(), Phase: p.phase.Name})
	return nil
}

// items returns what is in the queue, by path.
func (p *provoked) items(ctx context.Context) (map[string]string, error) {
	s, err := p.harness.any(ctx)
	if err != nil {
		return nil, err
	}
	found, err := p.harness.survey(ctx, p.parent)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, f := range found {
		if f.owner != 0 || !sequentialName.MatchString(f.path) {
			continue
		}
		data, _, err := s.Get(ctx, f.path)
		if err == nil {
			out[f.path] = identity(data)
		}
	}
	return out, nil
}

func takeReplyLost(ctx context.Context, p *provoked) error {
	p.produce(ctx, 4)
	items, err := p.items(ctx)
	if err != nil {
		return err
	}
	shots, err := p.armDeletes(1, wire.DropReply)
	if err != nil {
		return err
	}
	p.tasks.Go(func() {
		if proof, ok := p.firstHit(ctx, shots); ok && proof.Committed() {
			p.record.Record(&history.Committed{At: p.clock.Now(), Client: proof.Client, Session: proof.Session,
				Path: proof.Path, Zxid: proof.Zxid, Item: items[proof.Path]})
		}
	})
	return p.takeAll(ctx, p.clients[1:])
}

// armDeletes aims at the request that takes an item, whether it is a delete or a
// transaction.
func (p *provoked) armDeletes(i int, act wire.Act) ([]*wire.Shot, error) {
	var shots []*wire.Shot
	for _, op := range []wire.Op{wire.Delete, wire.Multi} {
		s, err := p.arm(i, wire.Rule{Op: op, Path: p.parent + "/*", Act: act})
		if err != nil {
			return nil, err
		}
		shots = append(shots, s)
	}
	return shots, nil
}

// firstHit waits for the first of two rules to strike, and disarms the other.
func (p *provoked) firstHit(ctx context.Context, shots []*wire.Shot) (wire.Proof, bool) {
	late := time.NewTimer(2 * time.Second)
	defer late.Stop()
	var proof wire.Proof
	var struck bool
	select {
	case proof, struck = <-shots[0].Fired():
		shots[1].Disarm()
	case proof, struck = <-shots[1].Fired():
		shots[0].Disarm()
	case <-late.C:
	case <-ctx.Done():
	}
	if !struck {
		for _, s := range shots {
			s.Disarm()
		}
		p.record.Record(&history.Window{Fault: "wire rule", Target: "a consumer", Client: -1, Start: p.clock.Now(), End: p.clock.Now(), Err: "no item was taken that it was aimed at"})
		return proof, false
	}
	p.record.Record(&history.Window{Fault: faultOf(proof.Rule.Act), Target: fmt.Sprintf("client %d", proof.Client), Client: proof.Client,
		Start: proof.Matched, End: proof.Done, Proof: proof.String()})
	return proof, true
}

func putReplyLost(ctx context.Context, p *provoked) error {
	shot, err := p.arm(0, wire.Rule{Op: wire.Create, Path: p.parent + "/*", Act: wire.DropReply})
	if err != nil {
		return err
	}
	p.produce(ctx, 3)
	p.hit(ctx, shot, true)
	return p.takeAll(ctx, p.clients[1:])
}

// race holds the deletes of both consumers until both have sent theirs, or until it
// is clear that only one of them will.
func race(ctx context.Context, p *provoked) error {
	p.produce(ctx, 6)
	var shots []*wire.Shot
	for i := 1; i <= 2; i++ {
		more, err := p.armDeletes(i, wire.HoldRequest)
		if err != nil {
			return err
		}
		shots = append(shots, more...)
	}
	var taken sync.WaitGroup
	taken.Go(func() {
		held := 0
		_ = poll(ctx, settledLimit, func(context.Context) (bool, error) { // one of them may wait in line
			held = 0
			for _, c := range p.clients[1:] {
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
					p.record.Record(&history.Window{Fault: faultOf(proof.Rule.Act), Target: fmt.Sprintf("client %d", proof.Client), Client: proof.Client,
						Start: proof.Matched, End: p.clock.Now(), Proof: proof.String()})
				}
			default:
			}
			s.Release()
			s.Disarm()
		}
	})
	err := p.takeAll(ctx, slices.Clone(p.clients[1:]))
	taken.Wait()
	return err
}

func putThenTake(ctx context.Context, p *provoked) error {
	p.produce(ctx, 5)
	return p.takeAll(ctx, p.clients[1:])
}

// putBetween holds a consumer's second list, which who found the queue empty needs
// only if its first left no watch, until an item has been put.
func putBetween(ctx context.Context, p *provoked) error {
	shot, err := p.arm(1, wire.Rule{Op: wire.GetChildren2, Path: p.parent, Nth: 2, Act: wire.HoldRequest})
	if err != nil {
		return err
	}
	stop := p.consumers(ctx, p.clients[1:])
	defer stop()
	// Who asks once only, with a watch, cannot be told too late of what came between.
	asked, still := false, 0
	_ = poll(ctx, grantLimit, func(context.Context) (bool, error) {
		now := p.clients[1].wire.Counts()
		if still++; now.InFlight > 0 || now.Requests.Of(wire.GetChildren2) == 0 {
			still = 0
		}
		asked = now.Queued > 0
		return asked || still >= stillPolls, nil
	})
	p.produce(ctx, 2) // of one item nobody could say in which order it came
	if asked {
		if err := p.everywhere(ctx, 2); err != nil {
			return err
		}
		p.hit(ctx, shot, true)
	}
	shot.Release()
	shot.Disarm()
	return p.drained(ctx)
}
