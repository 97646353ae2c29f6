package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// Targets of faults. A target member is one of Leader to MemberOf, or a member's name or address. A
// target client is one of Holder to Random, or a client's number.
const (
	Leader   = "leader"
	Follower = "follower"
	Observer = "observer" // a member without a vote
	Any      = "any"      // a serving member

	Minority = "minority" // as many voting members as may be lost: the rest is a quorum
	Majority = "majority" // the fewest voting members whose loss leaves no quorum

	All = "all" // every member, one after the other, the leader last

	MemberOf = "member of " // with a client: the member of its session

	Holder = "holder" // the client that holds the grant
	Next   = "next"   // the client behind the holder, by the order of nodes
	Waiter = "waiter" // a client that does not hold the grant
	Random = "random"
)

const (
	memberLimit = 15 * time.Second // an ensemble elects within a second or two
	clientLimit = 5 * time.Second  // between two grants there is no holder for some milliseconds; see Target.clientLimit
)

func (t Target) random(n int) int {
	if t.Random == nil || n < 2 {
		return 0
	}
	return t.Random(n)
}

// targetMember is a member, and its mode when it was picked.
type targetMember struct {
	*ensembles.Member
	mode string
}

// String returns name and mode: "zk2 (leader)".
func (v targetMember) String() string {
	if v.mode == "" {
		return v.Name
	}
	return v.Name + " (" + v.mode + ")"
}

func pickMember(ctx context.Context, t Target, target string) (targetMember, error) {
	all, err := pickMembers(ctx, t, target)
	if err != nil {
		return targetMember{}, err
	}
	return all[0], nil
}

// pickMembers returns the members described by target: one, or all of a minority or a majority. It
// waits while the ensemble is electing, and while the client of [MemberOf] is not connected.
func pickMembers(ctx context.Context, t Target, target string) (picked []targetMember, err error) {
	if err := CheckTarget(t.Ensemble, target); err != nil {
		return nil, err
	}
	client, ofClient := strings.CutPrefix(target, MemberOf)
	what, limit, try := "a target member ("+target+")", memberLimit, func(ctx context.Context) ([]targetMember, error) { return tryMember(ctx, t, target) }
	switch {
	case ofClient:
		what, limit = "the member of a client ("+client+")", t.clientLimit()
		try = func(ctx context.Context) ([]targetMember, error) { return tryClientsMember(ctx, t, client) }
	case slices.Contains(severalTargets, target):
		what = "target members (" + target + ")"
		try = func(ctx context.Context) ([]targetMember, error) { return trySeveral(ctx, t, target) }
	case target != "" && !slices.Contains(memberTargets, target):
		m, err := t.Ensemble.Member(target)
		if err != nil {
			return nil, fmt.Errorf("target %q: %w; use %s or a member's name", target, err, strings.Join(memberTargets, ", "))
		}
		return []targetMember{{Member: m}}, nil
	}
	err = poll(ctx, limit, func(ctx context.Context) error {
		picked, err = try(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("pick %s: %w", what, err)
	}
	return picked, nil
}

func tryMember(ctx context.Context, t Target, target string) ([]targetMember, error) {
	if target == Leader { // an isolated leader may still report the mode leader
		m, err := ensembles.Leader(ctx, t.Ensemble)
		return []targetMember{{m, ensembles.ModeLeader}}, err
	}
	var found []targetMember
	var why []error
	for _, s := range ensembles.Status(ctx, t.Ensemble) {
		switch {
		case s.Err != nil:
			why = append(why, fmt.Errorf("%s: %w", s.Member.Name, s.Err))
		case (target == Follower || target == Observer) && s.Server.Mode != target:
			why = append(why, fmt.Errorf("%s is %s", s.Member.Name, s.Server.Mode))
		default:
			found = append(found, targetMember{s.Member, s.Server.Mode})
		}
	}
	if len(found) == 0 {
		return nil, errors.Join(why...)
	}
	i := t.random(len(found))
	return found[i : i+1], nil
}

// pickClient returns the client described by target, among those with a live session. It waits for a holder.
func pickClient(ctx context.Context, t Target, target string) (n int, name string, err error) {
	err = poll(ctx, t.clientLimit(), func(context.Context) error {
		n, name, err = tryClient(t, target)
		return err
	})
	if err != nil {
		return -1, "", fmt.Errorf("pick a target client (%s): %w", target, err)
	}
	return n, name, nil
}

// clientLimit bounds the wait for a client: if the next in line has died, there is no holder until
// its session has expired, which takes a session timeout and up to a tick, at most half of a
// timeout. At a barrier all clients wait for each other.
func (t Target) clientLimit() time.Duration {
	var longest time.Duration
	for _, c := range t.Clients {
		longest = max(longest, c.Session().Timeout)
	}
	return clientLimit + time.Duration(max(t.MaxExpiries, 1))*(longest+longest/2)
}

func tryClient(t Target, target string) (n int, name string, err error) {
	switch {
	case target == Holder && t.Holder != nil:
		return describeClient(t, t.Holder(true), Holder, "no client holds a grant")
	case target == Next && t.Next == nil:
		return -1, "", fmt.Errorf("%w: the next client in line is known only for clients of drivers; use %q", ErrSkipped, Waiter)
	case target == Next:
		return describeClient(t, t.Next(), Next, "no client is waiting behind a holder")
	case isSpecificClient(target):
		n, err := clientNumber(target)
		if err == nil && !hasLiveSession(t, n) {
			err = fmt.Errorf("client %d (of %d clients) does not have a session", n, len(t.Clients))
		}
		return n, fmt.Sprintf("client %d", n), err
	}
	return anyClient(t, target)
}

// describeClient returns n and the description of client n, or the error problem if the client has no live session.
func describeClient(t Target, n int, target, problem string) (int, string, error) {
	if !hasLiveSession(t, n) {
		return -1, "", errors.New(problem)
	}
	return n, fmt.Sprintf("client %d (%s)", n, target), nil
}

func anyClient(t Target, target string) (int, string, error) {
	holder := -1
	if target == Waiter && t.Holder != nil {
		holder = t.Holder(false)
	}
	var found []int
	for i := range t.Clients {
		if hasLiveSession(t, i) && i != holder && (target != Waiter || t.Holds == nil || !t.Holds(i)) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return -1, "", fmt.Errorf("none of %d clients has a session", len(t.Clients))
	}
	n := found[t.random(len(found))]
	if target == Waiter {
		return n, fmt.Sprintf("client %d (%s)", n, Waiter), nil
	}
	return n, fmt.Sprintf("client %d", n), nil
}

func isSpecificClient(target string) bool {
	return !slices.Contains(clientTargets, target) && target != ""
}

func clientNumber(target string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(target, "client "))
	if err != nil || n < 0 {
		return -1, fmt.Errorf("%q is not a client: use %q, %q, %q, %q or a client's number", target, Holder, Next, Waiter, Random)
	}
	return n, nil
}

func hasLiveSession(t Target, n int) bool {
	if n < 0 || n >= len(t.Clients) || t.Clients[n] == nil {
		return false
	}
	s := t.Clients[n].Session()
	return s.ID != 0 && !s.Expired && !s.Closed
}

// trySeveral picks a minority or a majority at random, and returns it in member order. Followers are
// picked before the leader, so a minority never includes the leader. All voting members must serve:
// if a member were down already, more would be lost than the target describes.
func trySeveral(ctx context.Context, t Target, target string) (picked []targetMember, err error) {
	var leaders, followers []targetMember
	for _, s := range ensembles.Status(ctx, &ensembles.Ensemble{Members: t.Ensemble.Voting()}) {
		v := targetMember{s.Member, s.Server.Mode}
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
		return nil, fmt.Errorf("%d voting members report that they are the leader, instead of 1", len(leaders))
	}
	n := tolerableLosses(t.Ensemble)
	if target == Majority {
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
	slices.SortFunc(picked, func(a, b targetMember) int { return a.ID - b.ID })
	return picked, nil
}

func tolerableLosses(e *ensembles.Ensemble) int { return (len(e.Voting()) - 1) / 2 }

// CheckTarget returns an error if the ensemble can never have the target, and nil for targets that are clients.
func CheckTarget(e *ensembles.Ensemble, target string) error {
	voting := len(e.Voting())
	switch {
	case target == Observer && voting == len(e.Members):
		return fmt.Errorf("%w: none of the %d members is an observer; use --observers 1", ErrSkipped, voting)
	case target == Minority && tolerableLosses(e) == 0:
		return fmt.Errorf("%w: the loss of any of the %d voting members would break the quorum: use --members 3", ErrSkipped, voting)
	}
	return nil
}

func tryClientsMember(ctx context.Context, t Target, client string) ([]targetMember, error) {
	n, name, err := tryClient(t, client)
	if err != nil {
		return nil, err
	}
	server := t.Clients[n].Session().Server
	if server == "" {
		return nil, fmt.Errorf("%s is not connected to any member", name)
	}
	m, err := t.Ensemble.Member(server)
	if err != nil {
		return nil, err
	}
	mode := ensembles.Status(ctx, &ensembles.Ensemble{Members: []*ensembles.Member{m}})[0].Server.Mode
	return []targetMember{{m, mode}}, nil
}

// injectAll injects a fault into several members in parallel. If one injection fails, it undoes the others.
func injectAll(ctx context.Context, t Target, all []targetMember, inject memberFault) (e Effect, err error) {
	effects, errs := make([]Effect, len(all)), make([]error, len(all))
	var injecting sync.WaitGroup
	for i, v := range all {
		injecting.Go(func() { effects[i], errs[i] = try(func() (Effect, error) { return inject(ctx, t, v) }) })
	}
	injecting.Wait()
	var targets, proofs []string
	var undos, recoveries []func(context.Context) error
	for i, one := range effects {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", all[i], errs[i])
			continue
		}
		targets, e.ServedClients = append(targets, all[i].String()), append(e.ServedClients, one.ServedClients...)
		proofs = append(proofs, all[i].Name+": "+strings.TrimPrefix(one.Proof, all[i].Name+" "))
		undos, recoveries = append(undos, one.Undo), append(recoveries, one.AwaitRecovery)
	}
	e.Target, e.Proof = strings.Join(targets, ", "), strings.Join(proofs, "; ")
	e.Undo, e.AwaitRecovery = allOf(undos), allOf(recoveries)
	if err := errors.Join(errs...); err != nil {
		return Effect{}, injectAndProve(ctx, nil, func() error { return err }, e.Undo)
	}
	return e, nil
}

// allOf returns a function that runs the healing steps in parallel, or nil if there are none.
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
		return joinHealErrors(errs)
	}
}
