package chaos

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/ensembles"
)

// provoke makes a cut that drops only some packets, and sends the member packets
// until it has dropped one.
func provoke(ctx context.Context, t Target, v victim, r Rule, traffic func(context.Context, *ensembles.Member)) (Effect, error) {
	p, err := impose(ctx, t, []incision{{v, r}})
	if err != nil {
		return Effect{}, err
	}
	proof, err := p.prove(ctx, func() (string, error) {
		var d Dropped
		err := poll(ctx, dropLimit, func(ctx context.Context) (err error) {
			traffic(ctx, v.Member)
			if d, err = p.cuts[0].Dropped(ctx); err == nil && d.Packets == 0 {
				err = fmt.Errorf("%w: nothing was dropped at %s (%s)", ErrNoEffect, v.Name, r)
			}
			return err
		})
		return fmt.Sprintf("%d packets were dropped at once (%s)", d.Packets, r), err
	})
	if err != nil {
		return Effect{}, err
	}
	return Effect{Target: v.String(), Client: -1, Proof: proof, Undo: p.lift, Back: p.back}, nil
}
