package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// provoked is a provocation under way.
type provoked struct {
	st    *stage
	calls context.Context    // that the acquires run under
	stop  context.CancelFunc // calls off every acquire that is under way

	mu    sync.Mutex
	begun []*attempt // by all clients
}

func newProvoked(ctx context.Context, st *stage) *provoked {
	p := &provoked{st: st}
	p.calls, p.stop = context.WithCancel(ctx)
	return p
}

// callOff ends every acquire that is under way.
func (p *provoked) callOff() {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.begun {
		<-a.done
	}
}

// begin has client i acquire in the background.
func (p *provoked) begin(i int) *attempt {
	a := p.st.clients[i].begin(p.calls)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = append(p.begun, a)
	return a
}

// last is the client's last attempt; nil before the first.
func (p *provoked) last(i int) *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range slices.Backward(p.begun) {
		if a.c.n == i {
			return a
		}
	}
	return nil
}

// first has client i acquire, and write as its holder; it must be granted.
func (p *provoked) first(ctx context.Context, i int) (*attempt, error) {
	a := p.begin(i)
	if !a.returned(ctx, grantLimit) {
		return nil, fmt.Errorf("client %d was not granted what nobody held within %v", i, grantLimit)
	}
	if a.err != nil {
		return nil, fmt.Errorf("client %d was not granted what nobody held: %w", i, a.err)
	}
	p.act(ctx, a)
	return a, nil
}

// waiting has client 0 hold and the next n wait behind it, in their order.
func (p *provoked) waiting(ctx context.Context, n int) (holder *attempt, err error) {
	if holder, err = p.first(ctx, 0); err != nil {
		return nil, err
	}
	for i := 1; i <= n; i++ {
		p.begin(i)
		if err := p.inLine(ctx, i+1); err != nil {
			return nil, err
		}
	}
	return holder, nil
}

// act is what a holder does: it writes to the resource, and its node is checked.
func (p *provoked) act(ctx context.Context, a *attempt) {
	a.write(ctx)
	a.c.check(ctx, a.claim)
}

// letGo releases, and once more where the first time has failed: whoever is told
// that a release failed has a right to try again.
func (p *provoked) letGo(ctx context.Context, a *attempt) {
	if err := a.release(ctx); err != nil && !errors.Is(err, recipes.ErrGrantLost) {
		_ = a.release(ctx) // what is left behind is in the snapshot
	}
}

// inLine waits until n nodes stand in line, and then until nothing moves any more.
// A line that does not come to rest is left as it is.
func (p *provoked) inLine(ctx context.Context, n int) error {
	if err := p.st.inLine(ctx, n, grantLimit); err != nil {
		return err
	}
	_ = p.st.still(ctx, stillLimit)
	return ctx.Err()
}

// everywhere returns when every member has n nodes in the line: a request that is let
// go then is not answered from the past.
func (p *provoked) everywhere(ctx context.Context, n int) error {
	return p.st.standing(ctx, p.st.parent, n, grantLimit)
}

// connected waits until client i has a session, the same or another.
func (p *provoked) connected(ctx context.Context, i int) error {
	return poll(ctx, grantLimit, func(context.Context) (bool, error) {
		return p.st.clients[i].wire.Session().Server != "", nil
	})
}

// cutOff keeps client i from connecting, and breaks its connection, until back is called.
func (p *provoked) cutOff(i int) (back func()) {
	w := p.st.clients[i].wire
	w.Gate(true)
	w.Cut()
	return func() { w.Gate(false) }
}

// aim aims a rule at client i.
func (p *provoked) aim(i int, r wire.Rule) (*wire.Shot, error) { return p.st.clients[i].wire.Arm(r) }

// hit waits until one of the rules has hit, and records it as the fault that it is. The
// others, and all where none hits in time, are taken out of force.
func (p *provoked) hit(ctx context.Context, shots ...*wire.Shot) (proof wire.Proof, hit bool) {
	which := -1
	_ = poll(ctx, 2*time.Second, func(context.Context) (bool, error) {
		for k, s := range shots {
			select {
			case proof, hit = <-s.Fired():
				which = k
				return true, nil
			default:
			}
		}
		return false, nil
	})
	for k, s := range shots {
		if k != which {
			s.Disarm()
		}
	}
	if hit && proof.Err == nil {
		p.record(proof, proof.Done)
		return proof, true
	}
	now := p.st.clock.Now()
	p.st.record.Record(&history.Window{Fault: "wire rule", Target: "clients", Client: -1, Start: now, End: now,
		Err: fmt.Sprintf("no request came that it was aimed at: %v", proof.Err)})
	return proof, false
}

// record records a rule that has hit.
func (p *provoked) record(proof wire.Proof, end time.Duration) {
	p.st.record.Record(&history.Window{Fault: faultOf(proof.Rule.Act), Target: fmt.Sprintf("client %d", proof.Client), Client: proof.Client,
		Start: proof.Matched, End: end, Proof: proof.String()})
}

// faultOf is what the catalogue of faults calls an act.
func faultOf(a wire.Act) string {
	switch a {
	case wire.DropReply:
		return "reply.drop"
	case wire.HoldRequest:
		return "request.hold"
	}
	return "request.drop"
}
