package chaos

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/ensembles"
)

// cutSome makes a cut that drops only some packets, and sends the member packets
// until it has dropped one.
func cutSome(ctx context.Context, t Target, v victim, r packetRule, traffic func(context.Context, *ensembles.Member)) (Effect, error) {
	p, err := newPartition(ctx, t, []memberRule{{v, r}})
	if err != nil {
		return Effect{}, err
	}
	proof, err := p.prove(ctx, func() (string, error) {
		var d uint64
		err := poll(ctx, dropLimit, func(ctx context.Context) (err error) {
			traffic(ctx, v.Member)
			if d, err = p.cuts[0].dropped(ctx); err == nil && d == 0 {
				err = fmt.Errorf("%w: nothing was dropped at %s (%s)", ErrNoEffect, v.Name, r)
			}
			return err
		})
		return fmt.Sprintf("%d packets were dropped at once (%s)", d, r), err
	})
	if err != nil {
		return Effect{}, err
	}
	return Effect{Target: v.String(), Client: -1, Proof: proof, Undo: p.remove, Back: p.back}, nil
}
