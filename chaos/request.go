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

func registerRequest(k Kind, rule func(settings) wire.Rule) Kind {
	k.needs = []need{{about: "a matching request from the client"}}
	k.Params = append([]Param{
		{"op", "any", "the kind of request: create, delete, getChildren2, exists, ...; change or read: any request that changes or reads nodes"},
		{"path", "", "pattern for the path of the request; /** at the end matches all descendants; empty: every path"},
		{"nth", "1", "number of the matching request to act on, counted from the injection"},
		{"within", "10s", "how long to wait for a matching request"},
	}, k.Params...)
	k.onClient = func(s settings) clientFault {
		return onRequest(aim(rule(s), s), s.duration("within"))
	}
	return register(k)
}

// aim returns the rule, restricted to the request that a fault's parameters select.
func aim(rule wire.Rule, s settings) wire.Rule {
	ops := map[string]wire.Op{}
	for _, op := range wire.Ops() {
		ops[op.String()] = op
	}
	var known bool
	if rule.Op, known = ops[s.values["op"]]; !known {
		s.unknown("op", "is not a kind of request", slices.Sorted(maps.Keys(ops)))
	}
	rule.Path, rule.Nth = s.values["path"], s.number("nth", 1, 1<<30)
	if _, err := path.Match(rule.Path, ""); err != nil {
		s.bad("path", "is not a valid pattern: %v", err)
	}
	return rule
}

func onRequest(rule wire.Rule, within time.Duration) clientFault {
	return func(ctx context.Context, _ Target, c wire.Client) (Effect, error) {
		armed, err := c.Arm(rule)
		if err != nil {
			return Effect{}, err
		}
		late := time.NewTimer(within)
		defer late.Stop()
		select {
		case p, fired := <-armed.Fired():
			return firedEffect(armed, p, fired)
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-late.C:
			err = fmt.Errorf("%w: no request of the client matched (%v) within %v", ErrNoEffect, rule, within)
		}
		if !armed.Disarm() { // the rule fired at the same time
			p, fired := <-armed.Fired()
			return firedEffect(armed, p, fired)
		}
		return Effect{}, untouchedError{err}
	}
}

func firedEffect(armed wire.ArmedRule, p wire.Proof, fired bool) (Effect, error) {
	if err := p.Err; err != nil || !fired {
		return Effect{}, fmt.Errorf("%w: the rule was disarmed: %v", ErrNoEffect, err)
	}
	e := Effect{Proof: p.String()}
	if p.Rule.Act == wire.HoldRequest {
		e.Undo = func(context.Context) error { armed.Release(); return nil }
	}
	return e, nil
}

// request.drop leaves nothing to heal. The client believes that the request was sent.
var _ = registerRequest(Kind{
	Name:  "request.drop",
	About: "accepts one request from a client and never delivers it; the connection is cut",
	Proof: "the request that was not delivered",
}, func(settings) wire.Rule { return wire.Rule{Act: wire.DropRequest} })

// request.hold lets replies and notifications pass.
var _ = registerRequest(Kind{
	Name:  "request.hold",
	About: "holds back one request of a client, and all later ones, until the fault heals",
	Proof: "the request that is held back",
}, func(settings) wire.Rule { return wire.Rule{Act: wire.HoldRequest} })

// reply.drop leaves nothing to heal. The client cannot know whether the request was executed; the
// proof shows it.
var _ = registerRequest(Kind{
	Name:   "reply.drop",
	About:  "lets one request reach the server, and drops the reply",
	Proof:  "the dropped reply: its zxid and error code",
	Params: []Param{{"keep", "false", "true: the connection stays open, and the client waits; false: the connection is cut"}},
}, func(s settings) wire.Rule { return wire.Rule{Act: wire.DropReply, Keep: s.boolean("keep")} })
