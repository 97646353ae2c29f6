package recipes

import (
	"context"
	"errors"
	"fmt"
)

func init() {
	for v, who := range map[Variant]string{
		Parent:      "every candidate watches the parent: each end of a term wakes all (the herd)",
		Predecessor: "each candidate watches the one before it: the end of a term wakes one",
	} {
		Register(Subject{
			Name: "election/" + string(v), Variant: v,
			About: "ours; " + who + ". One leader at a time while sessions live; terms fenced by czxid, in order of candidacy",
			Open: func(ctx context.Context, env Env) (Client, error) {
				return openContender(ctx, env, func(s *Session) func(context.Context) (*Grant, error) {
					return NewElection(s, env.Parent, "", v).Campaign
				})
			},
			Drain: func(n, k int) Cost { return DrainCost(v, n, k) },
		})
	}
	for v, who := range map[Variant]string{
		Parent:      "every idle consumer watches the items: each put wakes all (the herd)",
		Predecessor: "consumers stand in line with tickets, only its head watches the items: each put wakes two at most",
	} {
		Register(Subject{
			Name: "queue/" + string(v), Variant: v,
			About: "ours; " + who + ". Confirmed deliveries are exactly once, fifo; a lost reply is told, never hidden",
			Open: func(ctx context.Context, env Env) (Client, error) {
				s, err := Open(ctx, env.Servers, Options{Timeout: env.Timeout, Dial: env.Dial, MaxPacket: env.MaxPacket})
				if err != nil {
					return nil, err
				}
				return queueClient{NewQueue(s, env.Parent, v)}, nil
			},
		})
	}
}

// queueClient makes our own queue a client of the lab.
type queueClient struct{ *Queue }

func (c queueClient) Close(context.Context) error { return c.s.Close() }

// errNothingHeld says that Release was called without an Acquire before it.
var errNothingHeld = errors.New("release: nothing is held")

// unfinished describes a call of somebody else's code that ctx did not wait for.
func unfinished(what string, ctx context.Context) error {
	return fmt.Errorf("%s: %w: %w", what, ErrUnfinished, context.Cause(ctx))
}
