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
	NoQueues      bool         // does not support queues
	Fields        []string     // fields of Phase that the kind accepts in addition to the common fields
	Enums         map[string][]string
	ExtraPacket   int  // extra packet size in bytes for the names of queued items
	Single        bool // one client holds at a time: all acquires are for writing, and a semaphore has one permit
	OpensSessions bool // the phase opens the clients' sessions itself
	Barriers      bool // supports barriers, which all clients enter together
	Paths         bool // supports several paths

	Validate func(p *Phase, bad ProblemFunc)
	// CheckSubject checks fields whose valid values depend on the subject; may be nil.
	CheckSubject func(p *Phase, s recipes.Subject, bad ProblemFunc)
	// MinClients returns the smallest number of clients, and why fewer are too few; may be nil.
	MinClients func(p *Phase) (n int, why string)
	// Plan makes the random choices of the rounds from the seed; may be nil.
	Plan func(p *Phase, r *rand.Rand, timeout time.Duration, clients int) []PlannedRound
	// Faults returns the faults that the kind injects itself; may be nil.
	Faults func(p *Phase) []string
}

// Kinds are the registered kinds of phase, in the order of their registration.
var Kinds []*Kind

func RegisterKind(k Kind) { Kinds = append(Kinds, &k) }

// KindNamed returns the kind of that name, or nil.
func KindNamed(name string) *Kind {
	if i := slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == name }); i >= 0 {
		return Kinds[i]
	}
	return nil
}

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
	return fmt.Sprintf("applies only to phases of kind %s, not %s (whose fields are %s)", accepting, k.Name, strings.Join(k.Fields, ", "))
}

// CheckSupports returns nil if a phase of the kind supports the subject, else an error with the reason.
func (k *Kind) CheckSupports(s recipes.Subject) error {
	if s.Recipe == recipes.RecipeBarrier && !k.Barriers {
		supporting := kindNamesWhere(func(k *Kind) bool { return k.Barriers })
		return fmt.Errorf("%s is a barrier, which all clients pass together: it runs in phases of kind %s, not %s", s.Name, units.List(supporting), k.Name)
	}
	if k.NoQueues && s.Recipe == recipes.RecipeQueue {
		return fmt.Errorf("%s is a queue, which does not grant anything; a %s phase requires a lock or an election", s.Name, k.Name)
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
