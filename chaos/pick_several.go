package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/ensembles"
)

// pickMembers returns the members described by target: one, or all of a minority or a majority. It
// waits while the ensemble is electing.
func pickMembers(ctx context.Context, t Target, who string) (all []victim, err error) {
	if !slices.Contains(severalTargets, who) {
		v, err := pickMember(ctx, t, who)
		return []victim{v}, err
	}
	if err := NoTarget(t.Ensemble, who); err != nil {
		return nil, err
	}
	err = poll(ctx, memberLimit, func(ctx context.Context) error {
		all, err = trySeveral(ctx, t, who)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("target members (%s): %w", who, err)
	}
	return all, nil
}

// trySeveral picks a minority or a majority by the seed, in member order. Followers are picked
// before the leader, so a minority never includes it. All voting members must serve: with one down
// already, more would be lost than the target describes.
func trySeveral(ctx context.Context, t Target, who string) (picked []victim, err error) {
	var leaders, followers []victim
	for _, s := range ensembles.Status(ctx, &ensembles.Ensemble{Members: t.Ensemble.Voting()}) {
		v := victim{s.Member, s.Server.Mode}
		switch {
		case s.Err != nil:
			return nil, fmt.Errorf("%s: %w", v.Name, s.Err)
		case v.mode == ensembles.ModeFollower:
			followers = append(followers, v)
		default:
			leaders = append(leaders, v)
		}
	}
	if len(leaders) != 1 {
		return nil, fmt.Errorf("%d members lead", len(leaders))
	}
	n := spare(t.Ensemble)
	if who == Majority {
		n++
	}
	for ; n > 0 && len(followers) > 0; n-- {
		i := t.random(len(followers))
		picked = append(picked, followers[i])
		followers = slices.Delete(followers, i, i+1)
	}
	if n > 0 {
		picked = append(picked, leaders[0])
	}
	slices.SortFunc(picked, func(a, b victim) int { return a.ID - b.ID })
	return picked, nil
}

// spare returns how many voting members may be lost: the rest is a quorum.
func spare(e *ensembles.Ensemble) int { return (len(e.Voting()) - 1) / 2 }

// NoTarget returns why the ensemble can never have the target, or nil; nil for clients.
func NoTarget(e *ensembles.Ensemble, who string) error {
	voting := len(e.Voting())
	switch {
	case who == Observer && voting == len(e.Members):
		return fmt.Errorf("%w: none of the %d members is an observer; use --observers 1", ErrSkipped, voting)
	case who == Minority && spare(e) == 0:
		return fmt.Errorf("%w: of %d members that vote none may be lost; use --members 3", ErrSkipped, voting)
	}
	return nil
}

// clientsMember returns the member of a client's session.
func clientsMember(ctx context.Context, t Target, client string) (v victim, err error) {
	err = poll(ctx, t.clientLimit(), func(ctx context.Context) error {
		n, name, err := tryClient(t, client)
		if err != nil {
			return err
		}
		server := t.Clients[n].Session().Server
		if server == "" {
			return fmt.Errorf("%s is connected to no member", name)
		}
		if v.Member, err = t.Ensemble.Member(server); err != nil {
			return err
		}
		v.mode = ensembles.Status(ctx, &ensembles.Ensemble{Members: []*ensembles.Member{v.Member}})[0].Server.Mode
		return nil
	})
	if err != nil {
		return victim{}, fmt.Errorf("target a client's member (%s): %w", client, err)
	}
	return v, nil
}

// hitAll injects a fault into several members in parallel and combines the effects: all are hit, or
// none.
func hitAll(ctx context.Context, t Target, all []victim, inject func(context.Context, Target, victim) (Effect, error)) (e Effect, err error) {
	effects, errs := make([]Effect, len(all)), make([]error, len(all))
	var injecting sync.WaitGroup
	for i, v := range all {
		injecting.Go(func() { effects[i], errs[i] = try(func() (Effect, error) { return inject(ctx, t, v) }) })
	}
	injecting.Wait()
	var targets, proofs []string
	var undos, backs []func(context.Context) error
	for i, one := range effects {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", all[i], errs[i])
			continue
		}
		targets, e.Served = append(targets, all[i].String()), append(e.Served, one.Served...)
		proofs = append(proofs, all[i].Name+": "+strings.TrimPrefix(one.Proof, all[i].Name+" "))
		undos, backs = append(undos, one.Undo), append(backs, one.Back)
	}
	e.Target, e.Proof = strings.Join(targets, ", "), strings.Join(proofs, "; ")
	e.Undo, e.Back = allOf(undos), allOf(backs)
	if err := errors.Join(errs...); err != nil {
		undo := e.Undo
		if undo == nil {
			undo = func(context.Context) error { return nil }
		}
		return Effect{}, act(ctx, nil, func() error { return err }, undo)
	}
	return e, nil
}

// allOf combines a step of healing of several members, in parallel, or nil.
func allOf(steps []func(context.Context) error) func(context.Context) error {
	steps = slices.DeleteFunc(steps, func(step func(context.Context) error) bool { return step == nil })
	if len(steps) == 0 {
		return nil
	}
	return func(ctx context.Context) error {
		errs := make([]error, len(steps))
		var healing sync.WaitGroup
		for i, step := range steps {
			healing.Go(func() { _, errs[i] = try(func() (Effect, error) { return Effect{}, step(ctx) }) })
		}
		healing.Wait()
		return worst(errs)
	}
}
