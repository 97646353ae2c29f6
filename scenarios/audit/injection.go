package audit

import (
	"cmp"
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
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// mostOf is the number of one client's steps with the same operation that are tested: polling repeats a
// step without end, and a queue's clients repeat it for every item.
const mostOf = 2

// StepsOf returns the steps of a role in order: the requests and notifications of a transcript, and
// the calls, which have no number yet.
func StepsOf(role string, frames []wire.Frame, made []spec.SeenStep) []spec.SeenStep {
	all := slices.Clone(made)
	for _, f := range frames {
		if f.Kind != wire.ReplyFrame && !slices.Contains(spec.UnsteadyOps, f.Op) {
			all = append(all, spec.SeenStep{Step: spec.Step{Op: f.Op.String()}, At: f.At})
		}
	}
	slices.SortStableFunc(all, func(a, b spec.SeenStep) int { return cmp.Compare(a.At, b.At) })
	counts, under := map[string]int{}, ""
	var out []spec.SeenStep
	for _, s := range all {
		counts[s.Op]++
		if s.Kind() == spec.AtCall { // a waiter is in the call that it made
			under = s.Op
		}
		if s.Role, s.Nth, s.Under = role, counts[s.Op], under; s.Nth <= mostOf {
			out = append(out, s)
		}
	}
	return out
}

type stepInjection struct {
	p     *episodeRun
	c     *stage.Client
	at    spec.Step
	fault *spec.StepFault
	shot  wire.ArmedRule // nil if the tap does not see the step
	come  chan struct{}  // closed when a step occurs that the tap does not see
	force chan struct{}  // closed when the fault is active or failed
	over  chan struct{}  // closed when the fault is over or was cancelled
	moves int64          // grants and releases of other clients at the injection
	// passable is true if the holder was another client and could release at the injection.
	passable bool

	proof    string      // evidence so far
	operator int64       // the session that deleted the client's nodes; 0 if none did
	begun    atomic.Bool // the step has occurred
	killed   bool        // the client's process was killed; valid once the fault is over
	forced   sync.Once
}

// ErrInapplicable means that the recipe does not allow the case of a cell.
var ErrInapplicable = errors.New("not applicable")

// errNoStep means that the step did not occur in the episode.
var errNoStep = errors.New("the step did not occur")

// newStrike prepares the injection of a fault at a step. The caller must call run.
func (p *episodeRun) newStrike(s spec.Step, f *spec.StepFault) (*stepInjection, error) {
	x := &stepInjection{p: p, c: p.st.Clients[s.Client()], at: s, fault: f, come: make(chan struct{}), force: make(chan struct{}), over: make(chan struct{})}
	if f.Timed {
		if subject := p.st.Cell.Subject; !subject.Tries {
			return nil, fmt.Errorf("%w: %s does not support an acquire with a time limit: its driver does not offer \"limit\"", chaos.ErrSkipped, subject.Name)
		}
		x.c.Limit.Store(int64(x.tryFor()))
	}
	if s.Kind()&(spec.AtRequest|spec.AtNotification) != 0 {
		act := f.Act
		if s.Kind() == spec.AtNotification {
			act = f.Told
		}
		var err error
		if x.shot, err = x.c.Wire.Arm(s.Rule(act)); err != nil {
			return nil, err
		}
		x.c.Wire.Gate(f.Away) // existing connections stay
	}
	return x, nil
}

// noStep returns an error that names the requests that the client sent.
func (x *stepInjection) noStep() error {
	if slices.Contains(spec.BacklogRoles, x.at.Role) {
		return fmt.Errorf("%w: with items waiting in the queue, %w", ErrInapplicable, errNoStep)
	}
	if x.at.Kind() != spec.AtRequest {
		return errNoStep
	}
	var made []string
	counts := x.c.Wire.Counts().Requests
	for _, op := range wire.Ops() {
		if n := counts.Of(op); n > 0 && !slices.Contains(spec.UnsteadyOps, op) {
			made = append(made, fmt.Sprintf("%s #%d", op, n))
		}
	}
	if len(made) == 0 {
		return fmt.Errorf("%w: the client sent no request", errNoStep)
	}
	return fmt.Errorf("%w; the last request of each type that the client sent: %s", errNoStep, strings.Join(made, ", "))
}

// run waits for the step and injects the fault. It returns when the fault is over, or was cancelled
// because the step did not occur.
func (x *stepInjection) run(ctx context.Context) {
	defer close(x.over)
	defer x.inForce()
	defer x.c.Wire.Gate(false)
	err := x.await(ctx)
	start := x.p.st.Clock.Now()
	x.moves, x.passable = x.p.moves(x.c.Number), x.p.passable(x)
	x.begun.Store(err == nil)
	if play := playStep[x.fault.Name]; err == nil && play != nil {
		err = play(ctx, x)
	}
	if !x.begun.Load() && x.fault.Alone != nil {
		x.p.st.Shared.Come(false)
	}
	if err != nil && !errors.Is(err, chaos.ErrSkipped) { // not available on this machine: a repetition would not help
		x.p.st.Missed.Store(true)
	}
	x.release()
	w := &history.Window{Fault: x.fault.Name, Target: fmt.Sprintf("client %d (%s)", x.c.Number, x.at.Role), Client: x.c.Number,
		Start: start, End: x.p.st.Clock.Now(), Proof: x.proof, Operator: x.operator}
	if x.fault.Alone != nil && x.fault.Alone.Target != "" {
		for _, c := range x.p.st.Clients {
			w.Served = append(w.Served, c.Number)
		}
	}
	if err != nil {
		w.Proof, w.Err = "", fmt.Sprintf("%s at %s: %v", x.fault.Name, x.at, err)
		w.Inapplicable = errors.Is(err, ErrInapplicable)
	}
	x.p.st.Record.Record(w)
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
	if !x.fault.Away {
		return nil
	}
	x.c.Wire.Gate(true)
	if x.c.Wire.Cut() == 0 {
		return errors.New("the client had no connection to cut")
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

// calling records that client n makes a call. If a fault is aimed at the call, calling waits until the fault is
// active or failed, and returns it; otherwise it returns nil.
func (p *episodeRun) calling(n int, call string) *stepInjection {
	nth := p.course.called(n, call, p.st.Clock.Now())
	for _, x := range p.strikes {
		if x.c.Number == n && x.at.Op == call && x.at.Nth == nth {
			close(x.come)
			<-x.force
			return x
		}
	}
	return nil
}
