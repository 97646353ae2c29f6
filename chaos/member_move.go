package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/rootless"
)

// MemberMove is the name of the fault that changes members' addresses.
const MemberMove = "member.move"

// Known is its parameter for what clients know of the members. A trial has one value, from its beginning.
const (
	Known       = "known"
	KnownByName = "name"
	KnownByList = "list"
)

var needsNames = need{about: "clients that run as drivers here (zkbench help drivers), on Linux with the right to mount a hosts file for them (root, or a user namespace)",
	checkMachine:  func(a Abilities) error { return a.Namespaces },
	checkEnsemble: func(context.Context, Target) error { return rootless.Rights() },
	driver:        true,
}

// NeedsDriver reports whether the named fault needs clients in other processes.
func NeedsDriver(name string) bool {
	k, err := KindOf(name)
	return err == nil && slices.ContainsFunc(k.needs, func(n need) bool { return n.driver || n.process })
}

// member.move is like the restart of a member on Kubernetes. The process keeps its address for the other members and
// for zkbench: only the listeners between clients and member move. Nothing moves back.
var _ = register(Kind{
	Name:    MemberMove,
	About:   "restarts a member, which then has another address for clients",
	Proof:   "the process ended, the member serves again, its old address refuses connections, and it answers srvr at the new one",
	Target:  All,
	Targets: append([]string{All}, allMemberTargets...),
	Params: []Param{{Known, KnownByName, "what clients know: name (host names of the members, which have the new addresses at once) or list " +
		"(the members' first addresses, for ever; at least one member must stay at its own)"}},
	needs: []need{needsProcess, needsNames},
	build: func(target string, s settings) injector {
		known := s.choice(Known, KnownByName, KnownByList)
		if target != All {
			return memberInjector(target, single(move))
		}
		if known == KnownByList {
			s.bad(Known, "does not fit the target %s: no client could connect after the last move; use name, or another target", All)
		}
		return memberInjector(Leader, oneByOne(move))
	},
})

func move(ctx context.Context, t Target, v targetMember) (proof string, err error) {
	if t.Addresses == nil {
		return "", untouchedError{fmt.Errorf("%w: the clients do not run as drivers here, so the members' addresses cannot change", ErrSkipped)}
	}
	if err := t.Addresses.CheckMove(v.Addr); err != nil {
		return "", untouchedError{fmt.Errorf("%w: %w", ErrNoEffect, err)}
	}
	var old, now string
	proof, err = restartChanged(ctx, t, v, func(context.Context) (err error) {
		old, now, err = t.Addresses.Move(v.Addr)
		return err
	})
	if err == nil {
		err = proveMoved(ctx, v, old, now)
	}
	return fmt.Sprintf("%s, at %s; %s refuses connections", proof, now, old), err
}

func proveMoved(ctx context.Context, v targetMember, old, now string) error {
	c, err := (&net.Dialer{Timeout: signalLimit}).DialContext(ctx, "tcp", old)
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: a connection to the old address of %s (%s) was not refused: %v", ErrNoEffect, v.Name, old, err)
	}
	if _, err := ensembles.Ask(ctx, &ensembles.Member{Name: v.Name, Addr: now}); err != nil {
		return fmt.Errorf("%w: %s does not answer at its new address: %w", ErrNoEffect, v.Name, err)
	}
	return nil
}
