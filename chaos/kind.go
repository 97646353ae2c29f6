package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/chaos/wire"
)

// Kind is a kind of fault. The fault's file declares and registers its Kind.
type Kind struct {
	Name        string
	About       string   // one line
	Proof       string   // how its effect is proven
	Target      string   // the default target
	Targets     []string // accepted targets, in addition to a member's name, a client's member and a client's number; nil if it has no target
	Params      []Param
	UntilExpiry bool // the fault lasts until a session has expired

	needs []need
	// One of these builds the fault from its parameters. build is for faults that select their targets themselves.
	onMember func(settings) memberFault
	onClient func(settings) clientFault
	build    func(target string, s settings) injector
}

// memberFault hits one member, and clientFault one client. A memberFault returns no target, unless it hits other
// members too.
type (
	memberFault = func(context.Context, Target, targetMember) (Effect, error)
	clientFault = func(context.Context, Target, wire.Client) (Effect, error)
)

func fixed[F any](fault F) func(settings) F { return func(settings) F { return fault } }

// Param describes a parameter of a kind of fault. Default is its value, as text, if none is given.
type Param struct {
	Name, Default, About string
}

type injector func(ctx context.Context, t Target) (Effect, error)

type namedFault struct {
	name   string
	inject injector
}

func (f namedFault) String() string { return f.name }

func (f namedFault) Inject(ctx context.Context, t Target) (Effect, error) {
	e, err := f.inject(ctx, t)
	if err != nil {
		return Effect{Target: e.Target, Client: e.Client, ServedClients: e.ServedClients}, fmt.Errorf("%s: %w", f.name, err)
	}
	return e, nil
}

// memberInjector returns an injector that hits each member described by target. If inject sets no target of
// the effect, the target is the first of these members.
func memberInjector(target string, inject memberFault) injector {
	return func(ctx context.Context, t Target) (e Effect, err error) {
		all, err := pickMembers(ctx, t, target)
		if err != nil {
			return Effect{}, untouchedError{err}
		}
		if len(all) == 1 {
			e, err = inject(ctx, t, all[0])
		} else {
			e, err = injectAll(ctx, t, all, inject)
		}
		e.Target, e.Client = cmp.Or(e.Target, all[0].String()), -1
		return e, err
	}
}

func clientInjector(target string, inject clientFault) injector {
	return func(ctx context.Context, t Target) (Effect, error) {
		n, name, err := pickClient(ctx, t, target)
		if err != nil {
			return Effect{}, untouchedError{err}
		}
		e, err := inject(ctx, t, t.Clients[n])
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		if errors.As(err, new(untouchedError)) {
			return Effect{}, err
		}
		e.Target, e.Client = name, n
		if err == nil && len(e.ServedClients) > 0 {
			e.Target += ", and in the same process " + clientList(e.ServedClients)
		}
		return e, err
	}
}

var (
	memberTargets    = []string{Leader, Follower, Any, Observer} // single members
	severalTargets   = []string{Minority, Majority}
	allMemberTargets = slices.Concat(memberTargets, severalTargets)
	clientTargets    = []string{Holder, Next, Waiter, Random}
)

var registry []Kind

// register adds a kind of fault, with the targets and the needs that it shares with others of its family.
func register(k Kind) Kind {
	switch {
	case k.onMember != nil:
		k.build = func(target string, s settings) injector { return memberInjector(target, k.onMember(s)) }
		k.Target = cmp.Or(k.Target, Leader)
		if k.Targets == nil {
			k.Targets = allMemberTargets
		}
	case k.onClient != nil:
		k.build = func(target string, s settings) injector { return clientInjector(target, k.onClient(s)) }
		k.Target, k.Targets, k.needs = Holder, clientTargets, append([]need{needsTap}, k.needs...)
	}
	registry = append(registry, k)
	return k
}

// Catalogue returns all kinds of fault, by name.
func Catalogue() []Kind {
	return slices.SortedFunc(slices.Values(registry), func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
}

// TouchesMembers reports whether the named fault acts on members; it is false for an unknown name.
func TouchesMembers(name string) bool {
	k, err := KindOf(name)
	return err == nil && k.TouchesMembers()
}

// IsLongRunning reports whether the named fault, if no duration is given, lasts until a member has
// stopped or started, or a session has expired.
func IsLongRunning(name string) bool {
	k, err := KindOf(name)
	return err == nil && (k.UntilExpiry || k.TouchesMembers())
}

// KindOf returns the kind of fault with that name; otherwise the error is an UnknownError.
func KindOf(name string) (Kind, error) {
	i := slices.IndexFunc(registry, func(k Kind) bool { return k.Name == name })
	if i >= 0 {
		return registry[i], nil
	}
	all := texts(Catalogue(), func(k Kind) string { return k.Name })
	return Kind{}, &UnknownError{fmt.Sprintf("%q is not a fault", name), name, all}
}

type UnknownError struct {
	Problem string // `"session.clsoe" is not a fault`
	Name    string
	Known   []string
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return e.Problem + "; there are none"
	}
	return e.Problem + "; known: " + strings.Join(e.Known, ", ")
}

// Parse returns a fault of the kind with that name. An empty target and missing parameters mean the
// kind's defaults. Members' names and clients' numbers are checked when the fault is injected. For
// an unknown name the error wraps an UnknownError.
func Parse(name, target string, params map[string]string) (Fault, error) {
	k, err := KindOf(name)
	if err != nil {
		return nil, err
	}
	target = cmp.Or(target, k.Target)
	if err := k.checkTarget(target); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s, err := k.settings(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := k.build(target, s)
	if err := s.err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return namedFault{name, f}, nil
}

// TargetsText returns the targets that the fault accepts as text, the default first; "" if it takes no target.
func (k Kind) TargetsText() string {
	if k.Targets == nil {
		return ""
	}
	all := append([]string{k.Target}, slices.DeleteFunc(slices.Clone(k.Targets), func(target string) bool { return target == k.Target })...)
	if slices.Equal(k.Targets, clientTargets) {
		return strings.Join(all, ", ") + ", a client's number"
	}
	return strings.Join(all, ", ") + ", " + MemberOf + "CLIENT, a member's name"
}

func (k Kind) checkTarget(target string) error {
	client, ofClient := strings.CutPrefix(target, MemberOf)
	switch {
	case target == "" || slices.Contains(k.Targets, target):
		return nil
	case k.Targets == nil:
		return fmt.Errorf("target %q: the fault does not accept a target", target)
	case slices.Equal(k.Targets, clientTargets):
		if _, err := clientNumber(target); err == nil {
			return nil
		}
		return &UnknownError{fmt.Sprintf("target %q is not a client, but the fault affects a client: use a client's number or a name", target), target, k.Targets}
	case ofClient && !slices.Contains(clientTargets, client):
		if _, err := clientNumber(client); err != nil {
			return fmt.Errorf("target %q: %w", target, err)
		}
	case slices.Contains(severalTargets, target):
		return fmt.Errorf("target %q names several members, but the fault affects one: use %s, or a member's name", target, strings.Join(k.Targets, ", "))
	case slices.Contains(clientTargets, target):
		return fmt.Errorf("target %q is a client, but the fault affects a member: use %s, or the member's name", target, strings.Join(k.Targets, ", "))
	}
	return nil // may be a member's name, which Inject checks
}
