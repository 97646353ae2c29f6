package spec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Kind is a kind of phase: its fields and its random choices.
type Kind struct {
	Name          string
	About         string       // one line, for lists
	Pace          history.Pace // determines when the clients act
	Needs         needs
	Fields        []string // fields of Phase that the kind accepts in addition to the common fields
	Enums         map[string][]string
	ExtraPacket   int  // extra packet size in bytes for the names of queued items
	Single        bool // one client holds at a time: all acquires are for writing, and a semaphore has one permit
	OpensSessions bool // the phase opens the clients' sessions itself
	Barriers      bool // supports barriers, which all clients enter together
	Paths         bool // supports several paths

	Validate func(p *Phase, bad ProblemFunc)
	// CheckSubject checks fields whose valid values depend on the subject; may be nil.
	CheckSubject func(p *Phase, s recipes.Subject, bad ProblemFunc)
	// TooFew returns the reason why there are too few clients, or ""; may be nil.
	TooFew func(p *Phase, clients int) string
	// Plan makes the random choices of the rounds from the seed; may be nil.
	Plan func(p *Phase, r *rand.Rand, timeout time.Duration, clients int) []PlannedRound
	// Faults returns the faults that the kind injects itself; may be nil.
	Faults func(p *Phase) []string
}

// Kinds are the registered kinds of phase, in the order of their registration.
var Kinds []*Kind

// RegisterKind adds a kind of phase.
func RegisterKind(k Kind) { Kinds = append(Kinds, &k) }

// KindNamed returns the kind of that name, or nil.
func KindNamed(name string) *Kind {
	if i := slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == name }); i >= 0 {
		return Kinds[i]
	}
	return nil
}

// KindNames returns the names of the registered kinds of phase, in the order of their registration.
func KindNames() []string { return kindNamesWhere(func(*Kind) bool { return true }) }

// KindsHelp describes the kinds of phase in up to two lines each: the name with the behaviour, and the
// fields in addition to name, kind and hold.
func KindsHelp() string {
	var b strings.Builder
	for _, k := range Kinds {
		fmt.Fprintf(&b, "  %-11s %s\n", k.Name, k.About)
		if len(k.Fields) > 0 {
			fmt.Fprintf(&b, "  %-11s (%s)\n", "", strings.Join(k.Fields, ", "))
		}
	}
	return b.String()
}

func kindNamesWhere(matches func(*Kind) bool) (names []string) {
	for _, k := range Kinds {
		if matches(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

func (k *Kind) refusal(field string) string {
	accepting := strings.Join(kindNamesWhere(func(k *Kind) bool { return slices.Contains(k.Fields, field) }), " or ")
	switch {
	case field == "duration" && slices.Contains(k.Fields, "rounds"):
		return fmt.Sprintf("a %s phase ends after a number of rounds: set rounds instead", k.Name)
	case field == "rounds" && slices.Contains(k.Fields, "duration"):
		return fmt.Sprintf("a %s phase runs for a fixed time: set duration instead", k.Name)
	case field == "faults":
		return fmt.Sprintf("a %s phase cannot have faults: put them into a phase of kind %s", k.Name, accepting)
	}
	return fmt.Sprintf("applies only to phases of kind %s, not %s", accepting, k.Name)
}

// needs is the subject that a kind of phase requires; "" for any subject.
type needs string

// NeedsGrants is the requirement of kinds that do not support queues.
const NeedsGrants needs = "a lock or an election"

// CheckSupports returns nil if a phase of the kind supports the subject, else an error with the reason.
func (k *Kind) CheckSupports(s recipes.Subject) error {
	if s.Recipe == recipes.RecipeBarrier && !k.Barriers {
		supporting := kindNamesWhere(func(k *Kind) bool { return k.Barriers })
		return fmt.Errorf("%s is a barrier, which all clients pass together: it runs in phases of kind %s, not %s", s.Name, units.List(supporting), k.Name)
	}
	if k.Needs == NeedsGrants && s.Recipe == recipes.RecipeQueue {
		return fmt.Errorf("%s is a queue, which does not grant anything; a %s phase requires %s", s.Name, k.Name, k.Needs)
	}
	return nil
}

// MemberFaults returns the faults that affect members; an external ensemble needs commands for them.
func (p *Phase) MemberFaults() []string {
	return slices.DeleteFunc(p.FaultNames(), func(name string) bool { return !chaos.TouchesMembers(name) })
}

// FaultNames returns the faults of the schedule and the kind's own faults, each once.
func (p *Phase) FaultNames() []string {
	names := units.Names(p.Faults, func(f Fault) string { return f.Fault })
	if k := KindNamed(p.Kind); k != nil && k.Faults != nil {
		names = append(names, k.Faults(p)...)
	}
	return unique(names)
}

func unique(names []string) (once []string) {
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}
