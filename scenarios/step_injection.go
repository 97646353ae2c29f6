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

// stepInjection is a fault at a step of an episode.
type stepInjection struct {
	p     *episodeRun
	c     *client
	at    step
	fault *stepFault
	shot  wire.ArmedRule // nil if the tap does not see the step
	come  chan struct{}  // closed when a step occurs that the tap does not see
	force chan struct{}  // closed when the fault is active or failed
	over  chan struct{}  // closed when the fault is over or was cancelled
	moves int64          // grants and releases of other clients at the injection
	// passable reports that the holder was another client and could release at the injection.
	passable bool

	proof  string      // evidence so far
	begun  atomic.Bool // the step has occurred
	forced sync.Once
}

// errInapplicable means that the recipe does not allow the case of a cell.
var errInapplicable = errors.New("not applicable")

// errNoStep means that the step did not occur in the episode.
var errNoStep = errors.New("the step did not come")

// newStrike injects a fault at a step once it occurs. end must be called.
func (p *episodeRun) newStrike(s step, f *stepFault) (*stepInjection, error) {
	x := &stepInjection{p: p, c: p.st.clients[s.client()], at: s, fault: f, come: make(chan struct{}), force: make(chan struct{}), over: make(chan struct{})}
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
		x.c.wire.Gate(f.away) // existing connections stay
	}
	return x, nil
}

// noStep returns an error that names the requests which the client did send.
func (x *stepInjection) noStep() error {
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

// run waits for the step and injects the fault. It returns when the fault is over, or was cancelled
// because the step did not occur.
func (x *stepInjection) run(ctx context.Context) {
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
	if !x.begun.Load() && x.fault.alone != nil {
		x.p.st.joint.come(false)
	}
	if err != nil && !errors.Is(err, chaos.ErrSkipped) { // not available on this machine: a repetition would not help
		x.p.st.missed.Store(true)
	}
	x.release()
	w := &history.Window{Fault: x.fault.name, Target: fmt.Sprintf("client %d (%s)", x.c.n, x.at.role), Client: x.c.n,
		Start: start, End: x.p.st.clock.Now(), Proof: x.proof}
	if x.fault.alone != nil && x.fault.alone.target != "" {
		for _, c := range x.p.st.clients {
			w.Served = append(w.Served, c.n)
		}
	}
	if err != nil {
		w.Proof, w.Err = "", fmt.Sprintf("%s at %s: %v", x.fault.name, x.at, err)
		w.Inapplicable = errors.Is(err, errInapplicable)
	}
	x.p.st.record.Record(w)
}

// await waits for the step and keeps the evidence.
func (x *stepInjection) await(ctx context.Context) error {
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

// cutOff begins a fault at a call that disconnects the client.
func (x *stepInjection) cutOff() error {
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

// lasts reports whether the fault has begun and is not over.
func (x *stepInjection) lasts() bool {
	select {
	case <-x.over:
		return false
	default:
		return x.begun.Load()
	}
}

// inForce signals that the fault is active.
func (x *stepInjection) inForce() { x.forced.Do(func() { close(x.force) }) }

func (x *stepInjection) release() {
	if x.shot != nil {
		x.shot.Disarm()
	}
}

// calling records that client n makes a call. A fault that is aimed at the call is active when
// calling returns it, or nil.
func (p *episodeRun) calling(n int, call string) *stepInjection {
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
