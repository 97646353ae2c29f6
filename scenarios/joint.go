package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
)

// joint is a fault of a member that hits several trials at once: each reports when it has reached
// its step, and continues when the member is down.
type joint struct {
	fault   *spec.MemberFault
	lasts   time.Duration
	server  string // client address of the member; "" if the fault hits several
	mu      sync.Mutex
	missing int           // trials that have not reached their step
	timer   *time.Timer   // starts when the first has
	ready   chan struct{} // closed when the member is to be killed
	closed  bool          // reports whether ready is closed
	down    chan struct{} // closed when the member is down, or could not be killed
	back    chan struct{} // closed when it serves again, or was not killed
	window  chaos.Window  // valid after back
	backAt  time.Time     // valid after back
	dialled map[dial]bool
}

type dial struct {
	c    wire.Client
	addr string
}

// jointFor is the time for which the first trial waits for the others: a client disconnects when no
// reply has come for two thirds of its session timeout. The member is down for DownFor.
const (
	jointFor = 700 * time.Millisecond
)

var errLate = errors.New("its step came when the member had been killed already")

func newJoint(fault *spec.MemberFault, lasts time.Duration, server string, trials int) *joint {
	return &joint{fault: fault, lasts: lasts, server: server, missing: trials, ready: make(chan struct{}), down: make(chan struct{}), back: make(chan struct{}),
		dialled: map[dial]bool{}}
}

// lead makes a client begin on the member: every other member refuses its first connection. Many
// libraries try the members in an order of their own.
func (j *joint) lead(c wire.Client, tap wire.Dialer) wire.Dialer {
	if j.server == "" {
		return tap
	}
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		if addr != j.server && c.Session().ID == 0 && j.first(c, addr) {
			return nil, fmt.Errorf("dial %s: the first session must be with %s", addr, j.server)
		}
		return tap(network, addr, timeout)
	}
}

func (j *joint) first(c wire.Client, addr string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	dial := dial{c, addr}
	was := j.dialled[dial]
	j.dialled[dial] = true
	return !was
}

// served returns since when the ensemble is available after an outage; see [recipes.Env].
func (st *stage) served() time.Time {
	j := st.joint
	if j == nil || j.fault.Target == "" {
		return time.Time{}
	}
	select {
	case <-j.back:
		return j.backAt
	default:
	}
	select {
	case <-j.down:
		return time.Now()
	default:
		return time.Time{}
	}
}

// come reports that a trial has reached its step, or with here false that it never will.
func (j *joint) come(here bool) (inTime bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	inTime = !j.closed
	j.missing--
	if here && j.timer == nil {
		j.timer = time.AfterFunc(jointFor, j.fire)
	}
	if j.missing == 0 {
		go j.fire()
	}
	return inTime
}

func (j *joint) fire() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		close(j.ready)
	}
}

// strike lets the fault hit a trial whose client is on the server. release is called when the
// member is down.
func (j *joint) strike(ctx context.Context, server string, release func()) error {
	if j.server != "" && server != j.server {
		j.come(false)
		return fmt.Errorf("its client was on %s, and %s was killed", cmp.Or(server, "no member"), j.server)
	}
	if !j.come(true) {
		return errLate
	}
	for _, next := range []chan struct{}{j.down, j.back} {
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		release()
	}
	return j.window.Err
}

// play injects the fault once all trials have reached their step, and heals it.
func (j *joint) play(ctx context.Context, e *ensembles.Ensemble, member string) error {
	defer func() { j.backAt = time.Now(); close(j.back) }()
	var downed sync.Once
	isDown := func() { downed.Do(func() { close(j.down) }) }
	defer isDown()
	select {
	case <-j.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	fault, err := chaos.Parse(j.fault.Fault, cmp.Or(j.fault.Target, member), nil)
	if err != nil {
		return err
	}
	start := time.Now()
	return chaos.Plan{
		Entries: []chaos.Entry{{Fault: fault, For: j.lasts}}, Now: func() time.Duration { return time.Since(start) },
		Injected: func(chaos.Window) { isDown() }, Healed: func(w chaos.Window) { j.window = w },
	}.Play(ctx, chaos.Target{Ensemble: e})
}

const waves = 5

// runShared runs cells whose fault hits a member. They begin at the same time, with their client on
// one member, which is killed for all of them at once. A cell whose step came too late, or whose
// client was on another member, is run again.
func (r *runner) runShared(ctx context.Context, cells []spec.Cell, before, all int) error {
	for n := range waves {
		if len(cells) == 0 || ctx.Err() != nil {
			break
		}
		late, err := r.wave(ctx, cells, n, before, all)
		if err != nil || n == waves-1 {
			return err
		}
		for cells = nil; len(late) > 0; late = late[1:] {
			again, err := r.again(late[0].TrialName())
			if err != nil {
				return err
			}
			if again {
				cells = append(cells, late[0])
			}
		}
	}
	return context.Cause(ctx)
}

// wave runs the cells and returns the cells that the fault did not affect.
func (r *runner) wave(ctx context.Context, cells []spec.Cell, again, before, all int) (late []spec.Cell, err error) {
	victim, err := r.follower(ctx)
	if err != nil {
		return nil, err
	}
	fault, server := cells[0].MemberFault(), r.ensemble.Members[victim].Addr
	if fault.Target != "" {
		server = ""
	}
	j := newJoint(fault, fault.Lasts(cells[0].Scenario.SessionTimeout), server, len(cells))
	played := make(chan error, 1)
	playing, stop := context.WithCancel(ctx)
	defer stop()
	go func() { played <- j.play(playing, r.ensemble, r.ensemble.Members[victim].Name) }()
	var mu sync.Mutex
	var trials []*trial
	err = r.runConcurrently(ctx, cells, concurrency{before: before, all: all, atOnce: len(cells), prepare: func(t *trial) {
		t.again = again
		t.stage.joint, t.stage.shift = j, victim-t.stage.cell.Aims[0].Step.Client()+len(r.ensemble.Members)
		mu.Lock()
		defer mu.Unlock()
		trials = append(trials, t)
	}})
	stop()
	<-played // the result is in the trials' windows
	// The trials' own cells have the subject that was started for them.
	for _, c := range cells {
		if slices.ContainsFunc(trials, func(t *trial) bool { return t.name == c.TrialName() && t.stage.missed.Load() }) {
			late = append(late, c)
		}
	}
	return late, err
}

func (r *runner) follower(ctx context.Context) (int, error) {
	leader, err := members{ensemble: r.ensemble}.leader(ctx)
	if err != nil {
		return 0, err
	}
	for i, m := range r.ensemble.Members {
		if m != leader {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no member can be killed: the ensemble has only %d", len(r.ensemble.Members))
}
