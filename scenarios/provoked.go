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

// provoked is a provocation under way. Its methods are the steps of the scripts: what
// makes the rest of a script meaningless ends it, by must.
type provoked struct {
	st    *stage
	ctx   context.Context    // of the provocation
	calls context.Context    // that the acquires run under
	stop  context.CancelFunc // calls off every acquire that is under way

	mu    sync.Mutex
	begun []*attempt // by all clients
}

func newProvoked(ctx context.Context, st *stage) *provoked {
	p := &provoked{st: st, ctx: ctx}
	p.calls, p.stop = context.WithCancel(ctx)
	return p
}

// scriptError is what must panics with.
type scriptError struct{ error }

// must ends the script if there is an error. It must not be called by other goroutines.
func (p *provoked) must(err error) {
	if err != nil {
		panic(scriptError{err})
	}
}

// play runs a script, and returns the error that has ended it.
func (p *provoked) play(script func(*provoked)) (err error) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case scriptError:
			err = why.error
		default:
			panic(why)
		}
	}()
	script(p)
	return nil
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
func (p *provoked) first(i int) *attempt {
	a := p.begin(i)
	if !a.returned(p.ctx, grantLimit) {
		p.must(fmt.Errorf("client %d was not granted what nobody held within %v", i, grantLimit))
	}
	if a.err != nil {
		p.must(fmt.Errorf("client %d was not granted what nobody held: %w", i, a.err))
	}
	p.act(a)
	return a
}

// waiting has client 0 hold and the next n wait behind it, in their order.
func (p *provoked) waiting(n int) (holder *attempt) {
	holder = p.first(0)
	for i := 1; i <= n; i++ {
		p.begin(i)
		p.inLine(i + 1)
	}
	return holder
}

// act is what a holder does: it writes to the resource, and its node is checked.
func (p *provoked) act(a *attempt) {
	a.write(p.ctx)
	a.c.check(p.ctx, a.claim)
}

// letGo releases, and once more where the first time has failed: whoever is told
// that a release failed has a right to try again.
func (p *provoked) letGo(a *attempt) {
	if err := a.release(p.ctx); err != nil && !errors.Is(err, recipes.ErrGrantLost) {
		_ = a.release(p.ctx) // what is left behind is in the snapshot
	}
}

// inLine waits until n nodes stand in line, and then until nothing moves any more.
// A line that does not come to rest is left as it is.
func (p *provoked) inLine(n int) {
	p.must(p.st.inLine(p.ctx, n, grantLimit))
	_ = p.st.still(p.ctx, stillLimit)
	p.must(context.Cause(p.ctx))
}

// everywhere returns when every member has n nodes in the line: a request that is let
// go then is not answered from the past.
func (p *provoked) everywhere(n int) {
	p.must(p.st.standing(p.ctx, p.st.parent, n, grantLimit))
}

// connected waits until client i has a session, the same or another.
func (p *provoked) connected(i int) {
	p.must(poll(p.ctx, grantLimit, func(context.Context) (bool, error) {
		return p.st.clients[i].wire.Session().Server != "", nil
	}))
}

// cutOff keeps client i from connecting, and breaks its connection, until back is called.
func (p *provoked) cutOff(i int) (back func()) {
	w := p.st.clients[i].wire
	w.Gate(true)
	w.Cut()
	return func() { w.Gate(false) }
}

// aim aims a rule at client i.
func (p *provoked) aim(i int, r wire.Rule) *wire.Shot {
	shot, err := p.st.clients[i].wire.Arm(r)
	p.must(err)
	return shot
}

// hit waits until one of the rules has hit, and records it as the fault that it is. The
// others, and all where none hits in time, are taken out of force.
func (p *provoked) hit(shots ...*wire.Shot) (proof wire.Proof, hit bool) {
	which := -1
	_ = poll(p.ctx, 2*time.Second, func(context.Context) (bool, error) {
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
