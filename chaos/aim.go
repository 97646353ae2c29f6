package chaos

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// Aim says which request of a client a fault hits.
type Aim struct {
	Client string        // Holder, Waiter, Random or a client's number
	Op     wire.Op       // wire.Any: every kind of request
	Path   string        // a pattern as path.Match reads it, "/**" at its end for all below; empty: every path
	Nth    int           // which match, from 1
	Within time.Duration // how long to wait for it
}

var aimParams = []Param{
	{"op", "any", "the kind of request: create, delete, getChildren2, exists, ..."},
	{"path", "", "a pattern for its path, /** at the end for all below; empty: every path"},
	{"nth", "1", "which such request from now on"},
	{"within", "10s", "how long to wait for it"},
}

// aimAt reads an Aim from a fault's parameters.
func aimAt(target string, s settings) Aim {
	op, known := parseOp(s.text("op"))
	if !known {
		s.bad("op", "is no kind of request%s", nearest(s.text("op"), opNames()))
	}
	if _, err := path.Match(s.text("path"), ""); err != nil {
		s.bad("path", "is no pattern: %v", err)
	}
	return Aim{Client: target, Op: op, Path: s.text("path"), Nth: s.number("nth", 1, 1<<30), Within: s.duration("within")}
}

// The opcodes that have a name, from closeSession to whoAmI.
const lowestOp, highestOp = wire.CloseSession, wire.WhoAmI

func parseOp(name string) (wire.Op, bool) {
	if !slices.Contains(opNames(), name) {
		return wire.Any, false
	}
	op := lowestOp
	for op.String() != name {
		op++
	}
	return op, true
}

// opNames are the names of all opcodes that have one.
func opNames() (names []string) {
	for op := lowestOp; op <= highestOp; op++ {
		if name := op.String(); !strings.HasPrefix(name, "op ") {
			names = append(names, name)
		}
	}
	return names
}

// strike arms a rule at the client that the aim names, and waits until it has hit.
// Of a rule that still keeps something the shot is returned for the way back.
func (a Aim) strike(ctx context.Context, f Fault, t Target, r wire.Rule) (Effect, *wire.Shot, error) {
	n, name, err := pickClient(ctx, t, a.Client)
	if err != nil {
		return Effect{}, nil, fmt.Errorf("%s: %w", f, err)
	}
	r.Op, r.Path, r.Nth, r.Random = a.Op, a.Path, a.Nth, t.random
	shot, err := t.Clients[n].Arm(r)
	if err != nil {
		return Effect{}, nil, fmt.Errorf("%s: %s: %w", f, name, err)
	}
	late := time.NewTimer(a.Within)
	defer late.Stop()
	select {
	case p, fired := <-shot.Fired():
		if err := p.Err; err != nil || !fired {
			return Effect{}, nil, fmt.Errorf("%s: %s: %w: the rule was disarmed: %v", f, name, ErrNoEffect, err)
		}
		return Effect{Target: name, Client: n, Proof: p.String()}, shot, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-late.C:
		err = fmt.Errorf("%w: no request of it matched (%v) within %v", ErrNoEffect, r, a.Within)
	}
	shot.Disarm()
	return Effect{}, nil, fmt.Errorf("%s: %s: %w", f, name, err)
}
