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

// requestParams returns the parameters that select the request, and more.
func requestParams(more ...Param) []Param {
	return append([]Param{
		{"op", "any", "the kind of request: create, delete, getChildren2, exists, ...; change, read: any that changes or reads nodes"},
		{"path", "", "a pattern for its path, /** at the end for all below; empty: every path"},
		{"nth", "1", "which such request from now on"},
		{"within", "10s", "how long to wait for it"},
	}, more...)
}

// aim makes a rule hit the request selected by a fault's parameters.
func aim(rule wire.Rule, s settings) wire.Rule {
	ops := map[string]wire.Op{}
	for _, op := range wire.Ops() {
		ops[op.String()] = op
	}
	var known bool
	if rule.Op, known = ops[s.text("op")]; !known {
		s.unknown("op", "is no kind of request", slices.Sorted(maps.Keys(ops)))
	}
	rule.Path, rule.Nth = s.text("path"), s.number("nth", 1, 1<<30)
	if _, err := path.Match(rule.Path, ""); err != nil {
		s.bad("path", "is no pattern: %v", err)
	}
	return rule
}

// onRequest makes a fault that arms a rule at a client's request, and waits until the rule has
// matched.
func onRequest(who string, rule wire.Rule, s settings) injector {
	rule, within := aim(rule, s), s.duration("within")
	return onClient(who, func(ctx context.Context, t Target, c wire.Client) (Effect, error) {
		rule := rule
		rule.Random = t.random
		shot, err := c.Arm(rule)
		if err != nil {
			return Effect{}, err
		}
		late := time.NewTimer(within)
		defer late.Stop()
		select {
		case p, fired := <-shot.Fired():
			return shotEffect(shot, p, fired)
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-late.C:
			err = fmt.Errorf("%w: no request of it matched (%v) within %v", ErrNoEffect, rule, within)
		}
		if !shot.Disarm() { // it matched at the same time
			p, fired := <-shot.Fired()
			return shotEffect(shot, p, fired)
		}
		return Effect{}, untouched{err}
	})
}

// shotEffect returns the effect of a rule that has matched.
func shotEffect(shot wire.ArmedRule, p wire.Proof, fired bool) (Effect, error) {
	if err := p.Err; err != nil || !fired {
		return Effect{}, fmt.Errorf("%w: the rule was disarmed: %v", ErrNoEffect, err)
	}
	e := Effect{Proof: p.String()}
	if p.Rule.Act == wire.HoldRequest {
		e.Undo = func(context.Context) error { shot.Release(); return nil }
	}
	return e, nil
}
