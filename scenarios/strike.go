package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

// strike is a fault at a step of an episode.
type strike struct {
	p     *provoked
	c     *client
	at    step
	fault *stepFault
	shot  wire.Shot     // nil where the tap does not see the step
	come  chan struct{} // closed when the step has come that the tap does not see
	force chan struct{} // closed when the fault is in force, or failed
	over  chan struct{} // closed when the fault is over, or was called off
	moves int64         // the others' grants and releases when it struck
	// passable says that the holder could let go, which was another client, when it struck.
	passable bool

	proof  string      // of what has come to pass so far
	begun  atomic.Bool // the step has come
	forced sync.Once
}

// errInapplicable reports that the recipe does not allow what a cell is about.
var errInapplicable = errors.New("not applicable")

// errNoStep says that the course of the episode never came to the step.
var errNoStep = errors.New("the step did not come")

// newStrike puts a fault in force at a step. end must be called.
func (p *provoked) newStrike(s step, f *stepFault) (*strike, error) {
	x := &strike{p: p, c: p.st.clients[s.client()], at: s, fault: f, come: make(chan struct{}), force: make(chan struct{}), over: make(chan struct{})}
	if f.timed {
		if subject := p.st.cell.Subject; !subject.Tries {
			return nil, fmt.Errorf("%w: %s has no timed try of its own: its driver does not offer limit", chaos.ErrSkipped, subject.Name)
		}
		x.c.limit.Store(int64(x.tryFor()))
	}
	if s.onWire() {
		act := f.act
		if s.kind() == atNotification {
			act = f.told
		}
		var err error
		if x.shot, err = x.c.wire.Arm(s.rule(act)); err != nil {
			return nil, err
		}
		x.c.wire.Gate(f.away) // connections that are there stay
	}
	return x, nil
}

// noStep says that the step did not come, and what did of that client.
func (x *strike) noStep() error {
	if slices.Contains(backlogRoles, x.at.role) {
		return fmt.Errorf("%w: with items waiting in the queue, %w", errInapplicable, errNoStep)
	}
	if x.at.kind() != atRequest {
		return errNoStep
	}
	var made []string
	counts := x.c.wire.Counts().Requests
	for _, op := range wire.Ops() {
		if n := counts.Of(op); n > 0 && !slices.Contains(unsteady, op) {
			made = append(made, fmt.Sprintf("%s #%d", op, n))
		}
	}
	if len(made) == 0 {
		return fmt.Errorf("%w: the client made no request", errNoStep)
	}
	return fmt.Errorf("%w: the client went as far as %s", errNoStep, strings.Join(made, ", "))
}

// run waits for the step, and plays the fault. It returns when the fault is over, or was
// called off because the step did not come.
func (x *strike) run(ctx context.Context) {
	defer close(x.over)
	defer x.inForce()
	defer x.c.wire.Gate(false)
	err := x.await(ctx)
	start := x.p.st.clock.Now()
	x.moves, x.passable = x.p.moves(x.c.n), x.p.passable(x)
	x.begun.Store(err == nil)
	if err == nil && x.fault.play != nil {
		err = x.fault.play(ctx, x)
	}
	if !x.begun.Load() && x.fault.alone {
		x.p.st.joint.come(false)
	}
	if err != nil && !errors.Is(err, chaos.ErrSkipped) { // that cannot be had here another time either
		x.p.st.missed.Store(true)
	}
	x.release()
	w := &history.Window{Fault: x.fault.name, Target: fmt.Sprintf("client %d (%s)", x.c.n, x.at.role), Client: x.c.n,
		Start: start, End: x.p.st.clock.Now(), Proof: x.proof}
	if err != nil {
		w.Proof, w.Err = "", fmt.Sprintf("%s at %s: %v", x.fault.name, x.at, err)
		w.Inapplicable = errors.Is(err, errInapplicable)
	}
	x.p.st.record.Record(w)
}

// await waits for the step, and keeps what proves that it has come.
func (x *strike) await(ctx context.Context) error {
	if x.shot == nil {
		select {
		case <-x.come:
			x.proof = fmt.Sprintf("the client was at %s", x.at)
			return x.cutOff()
		case <-ctx.Done():
			return errNoStep
		}
	}
	select {
	case p, fired := <-x.shot.Fired():
		if !fired {
			return x.noStep()
		}
		x.proof = p.String()
		return p.Err
	case <-ctx.Done():
		return x.noStep()
	}
}

// cutOff is how a fault at a call begins that keeps the client away.
func (x *strike) cutOff() error {
	if !x.fault.away {
		return nil
	}
	x.c.wire.Gate(true)
	if x.c.wire.Cut() == 0 {
		return errors.New("there was no connection to cut")
	}
	x.inForce()
	return nil
}

// lasts says that the fault has begun, and is not over.
func (x *strike) lasts() bool {
	select {
	case <-x.over:
		return false
	default:
		return x.begun.Load()
	}
}

// inForce says that the fault is in force.
func (x *strike) inForce() { x.forced.Do(func() { close(x.force) }) }

// release lets go what the tap keeps.
func (x *strike) release() {
	if x.shot != nil {
		x.shot.Disarm()
	}
}

// calling says that client n is at a call for another time. A fault that is aimed at it
// is in force when calling returns; nil where none is.
func (p *provoked) calling(n int, call string) *strike {
	nth := p.course.called(n, call, p.st.clock.Now())
	for _, x := range p.strikes {
		if x.c.n == n && x.at.op == call && x.at.nth == nth {
			close(x.come)
			<-x.force
			return x
		}
	}
	return nil
}
