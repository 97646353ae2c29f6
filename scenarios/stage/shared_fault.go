package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// SharedFault is a fault of a member that hits several trials at once: each reports when it has reached
// its step, and continues when the member is down.
type SharedFault struct {
	Fault   *spec.MemberFault
	Lasts   time.Duration
	Server  string // client address of the member; "" if the fault hits several
	mu      sync.Mutex
	Missing int           // trials that have not reached their step
	timer   *time.Timer   // started when the first trial has reached its step
	Ready   chan struct{} // closed when the member is to be killed
	closed  bool          // Ready is closed
	Down    chan struct{} // closed when the member is down, or could not be killed
	Back    chan struct{} // closed when it serves again, or was not killed
	window  chaos.Window  // valid after Back is closed
	backAt  time.Time     // valid after Back is closed
	Dialled map[Dial]bool
}

// Dial is a client's attempt to connect to an address.
type Dial struct {
	c    wire.Client
	addr string
}

// jointFor is the time for which the first trial waits for the others. It is short, because a client
// disconnects after two thirds of its session timeout without a reply. The member is down for DownFor.
const jointFor = 700 * time.Millisecond

var errLate = errors.New("the step occurred after the member had been killed")

// Lead makes a client open its session with the fault's member: its first dial of each other member fails.
// Many libraries choose the order of members themselves.
func (j *SharedFault) Lead(c wire.Client, tap wire.Dialer) wire.Dialer {
	if j.Server == "" {
		return tap
	}
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		if addr != j.Server && c.Session().ID == 0 && j.first(c, addr) {
			return nil, fmt.Errorf("dial %s: rejected by zkbench: the client's first session must be with %s", addr, j.Server)
		}
		return tap(network, addr, timeout)
	}
}

func (j *SharedFault) first(c wire.Client, addr string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	dial := Dial{c, addr}
	was := j.Dialled[dial]
	j.Dialled[dial] = true
	return !was
}

// served returns when the ensemble recovered from an outage, now if it is down, or the zero time; see [recipes.Env].
func (st *Stage) served() time.Time {
	j := st.Shared
	if j == nil || j.Fault.Target == "" {
		return time.Time{}
	}
	switch {
	case Closed(j.Back):
		return j.backAt
	case Closed(j.Down):
		return time.Now()
	}
	return time.Time{}
}

// Come signals that a trial has reached its step, or with here false that it never will.
func (j *SharedFault) Come(here bool) (inTime bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	inTime = !j.closed
	j.Missing--
	if here && j.timer == nil {
		j.timer = time.AfterFunc(jointFor, j.fire)
	}
	if j.Missing == 0 {
		go j.fire()
	}
	return inTime
}

func (j *SharedFault) fire() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		close(j.Ready)
	}
}

// Strike waits until the fault has hit a trial, whose client is connected to server, and is over. release is
// called when the member is down.
func (j *SharedFault) Strike(ctx context.Context, server string, release func()) error {
	if j.Server != "" && server != j.Server {
		j.Come(false)
		return fmt.Errorf("the client's member (%s) is not the killed member (%s)", cmp.Or(server, "none"), j.Server)
	}
	if !j.Come(true) {
		return errLate
	}
	for _, next := range []chan struct{}{j.Down, j.Back} {
		if Await(ctx, next) != nil {
			return context.Cause(ctx)
		}
		release()
	}
	return j.window.Err
}

// Play injects the fault once all trials have reached their step, and heals it.
func (j *SharedFault) Play(ctx context.Context, e *ensembles.Ensemble, member string) error {
	defer func() { j.backAt = time.Now(); close(j.Back) }()
	var downed sync.Once
	isDown := func() { downed.Do(func() { close(j.Down) }) }
	defer isDown()
	if Await(ctx, j.Ready) != nil {
		return context.Cause(ctx)
	}
	fault, err := chaos.Parse(j.Fault.Fault, cmp.Or(j.Fault.Target, member), nil)
	if err != nil {
		return err
	}
	start := time.Now()
	return chaos.Plan{
		Entries: []chaos.Entry{{Fault: fault, For: j.Lasts}}, Now: func() time.Duration { return time.Since(start) },
		Injected: func(chaos.Window) { isDown() }, Healed: func(w chaos.Window) { j.window = w },
	}.Play(ctx, chaos.Target{Ensemble: e})
}
