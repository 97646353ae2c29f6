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

// request.drop leaves nothing to heal. The client believes that the request was sent.
var _ = register(Kind{
	Name:   "request.drop",
	About:  "takes one request from a client and never delivers it; the connection is cut",
	Proof:  "the request that was taken",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(),
	needs:  []need{needsTap, needsRequest},
	build: func(target string, s settings) injector {
		return onRequest(target, wire.Rule{Act: wire.DropRequest}, s)
	},
})

// request.hold lets replies and notifications pass.
var _ = register(Kind{
	Name:   "request.hold",
	About:  "keeps one request of a client, and all after it, until healed",
	Proof:  "the request that is kept",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(),
	needs:  []need{needsTap, needsRequest},
	build: func(target string, s settings) injector {
		return onRequest(target, wire.Rule{Act: wire.HoldRequest}, s)
	},
})

// reply.drop leaves nothing to heal. The client cannot know whether the request was executed; the
// proof does.
var _ = register(Kind{
	Name:   "reply.drop",
	About:  "lets one request reach the server, and swallows the reply",
	Proof:  "the swallowed reply: its zxid and error code",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(Param{"keep", "false", "true: the connection stays, and the client waits; false: it is cut"}),
	needs:  []need{needsTap, needsRequest},
	build: func(target string, s settings) injector {
		return onRequest(target, wire.Rule{Act: wire.DropReply, Keep: s.truth("keep")}, s)
	},
})

// wire.delay leaves nothing to heal.
var _ = register(Kind{
	Name:   "wire.delay",
	About:  "delivers one request of a client, and all after it, late",
	Proof:  "the request, and how long it was kept",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(
		Param{"delay", "500ms", "how long"},
		Param{"jitter", "0s", "at most so much more or less, by the seed"}),
	needs: []need{needsTap, needsRequest},
	build: func(target string, s settings) injector {
		r := wire.Rule{Act: wire.Delay, Delay: s.duration("delay"), Jitter: s.duration("jitter")}
		if r.Delay == 0 {
			s.bad("delay", "delays nothing")
		}
		if r.Jitter > r.Delay {
			s.bad("jitter", "is more than the delay")
		}
		return onRequest(target, r, s)
	},
})
