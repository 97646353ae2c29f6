package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// client.restart is a crash after which a supervisor starts the client again. The old session lives
// until it expires, with its nodes.
var _ = register(Kind{
	Name:   "client.restart",
	About:  "kills a client's process (SIGKILL) and every other client in it, and starts them again in a new process at once",
	Proof:  "the process has ended, and the client has a new session",
	Target: Holder, Targets: clientTargets,
	needs: []need{needsTap, needsDriver},
	build: func(target string, _ settings) injector { return onProcess(target, restartProcess) },
})

// comeBackLimit bounds the wait for the client, which has to notice and to start its process.
const comeBackLimit = 60 * time.Second

func restartProcess(ctx context.Context, _ Target, c wire.Client, p Process) (Effect, error) {
	old, begin := c.Session().ID, time.Now()
	proof, err := killed(ctx, p)
	p.Replace()
	if err != nil {
		return Effect{}, err
	}
	err = poll(ctx, comeBackLimit, func(context.Context) error {
		if s := c.Session(); s.ID == 0 || s.ID == old || s.Expired || s.Closed {
			return fmt.Errorf("%w: the client has not come back with a new session", ErrNoEffect)
		}
		return nil
	})
	return Effect{Proof: fmt.Sprintf("%s; after %v the client had session %#x", proof, time.Since(begin).Round(time.Millisecond), c.Session().ID)}, err
}
