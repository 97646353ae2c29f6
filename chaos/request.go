package chaos

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// request says which request of a client a fault hits.
type request struct {
	client string        // Holder, Waiter, Random or a client's number
	op     wire.Op       // wire.Any: every kind of request
	path   string        // a pattern as path.Match reads it, "/**" at its end for all below; empty: every path
	nth    int           // which match, from 1
	within time.Duration // how long to wait for it
}

// requestParams returns the parameters that say which request, and more.
func requestParams(more ...Param) []Param {
	return append([]Param{
		{"op", "any", "the kind of request: create, delete, getChildren2, exists, ..."},
		{"path", "", "a pattern for its path, /** at the end for all below; empty: every path"},
		{"nth", "1", "which such request from now on"},
		{"within", "10s", "how long to wait for it"},
	}, more...)
}

// parseRequest reads which request from a fault's parameters.
func parseRequest(target string, s settings) request {
	ops := map[string]wire.Op{}
	for _, op := range wire.Ops() {
		ops[op.String()] = op
	}
	op, known := ops[s.text("op")]
	if !known {
		s.unknown("op", "is no kind of request", slices.Sorted(maps.Keys(ops)))
	}
	if _, err := path.Match(s.text("path"), ""); err != nil {
		s.bad("path", "is no pattern: %v", err)
	}
	return request{client: target, op: op, path: s.text("path"), nth: s.number("nth", 1, 1<<30), within: s.duration("within")}
}

// hit arms a rule at the client's request, and waits until the rule has hit it. The
// shot is that of the rule.
func (r request) hit(ctx context.Context, t Target, rule wire.Rule) (Effect, *wire.Shot, error) {
	n, name, err := pickClient(ctx, t, r.client)
	if err != nil {
		return Effect{}, nil, err
	}
	rule.Op, rule.Path, rule.Nth, rule.Random = r.op, r.path, r.nth, t.random
	shot, err := t.Clients[n].Arm(rule)
	if err != nil {
		return Effect{}, nil, fmt.Errorf("%s: %w", name, err)
	}
	late := time.NewTimer(r.within)
	defer late.Stop()
	select {
	case p, fired := <-shot.Fired():
		if err := p.Err; err != nil || !fired {
			return Effect{}, nil, fmt.Errorf("%s: %w: the rule was disarmed: %v", name, ErrNoEffect, err)
		}
		return Effect{Target: name, Client: n, Proof: p.String()}, shot, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-late.C:
		err = fmt.Errorf("%w: no request of it matched (%v) within %v", ErrNoEffect, rule, r.within)
	}
	shot.Disarm()
	return Effect{}, nil, fmt.Errorf("%s: %w", name, err)
}
