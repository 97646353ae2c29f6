package scenarios

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// kind is a kind of phase: what a scenario may say about it, what the seed decides, and
// how it is run. Each kind is a value in a file of its own, kind_NAME.go.
type kind struct {
	name   string
	about  string       // one line, for lists
	pace   history.Pace // who decides when its clients act
	needs  needs        // of the subject
	fields []string     // of Phase that it knows, beside the common ones
	words  map[string][]string
	room   int  // bytes that a client needs for names of items that pile up
	opens  bool // run opens the clients' sessions: none is open when it begins

	// validate checks the fields that it knows.
	validate func(p *Phase, bad problemFunc)
	// fits checks the fields that depend on the subject. It may be nil.
	fits func(p *Phase, s recipes.Subject, bad problemFunc)
	// tooFew says why a count of clients is too small; "" where it is not. It may be nil.
	tooFew func(p *Phase, clients int) string
	// plan draws the rounds, where the seed decides about them. It may be nil.
	plan func(p *Phase, r *rand.Rand, timeout time.Duration, clients int) []plannedRound
	// faults are those that the phase has beside the ones in its fields. It may be nil.
	faults func(p *Phase) []string
	// effort is about how long the phase takes on a good day; only proportions matter.
	effort func(p *Phase, clients int) time.Duration
	// run runs the phase, and leaves every client with a session and out of line.
	run func(ctx context.Context, st *stage) error
}

var kinds []*kind

// addKind is called by each kind's file.
func addKind(k kind) { kinds = append(kinds, &k) }

// kindNamed returns the kind of that name, or nil.
func kindNamed(name string) *kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	return nil
}

func kindNames() []string { return kindsWith("") }

// Kinds describes the kinds of phase, two lines each: the name, what happens in such a
// phase, and the fields that it has beside name, kind and hold.
func Kinds() string {
	var b strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %-11s %s\n", k.name, k.about)
		if len(k.fields) > 0 {
			fmt.Fprintf(&b, "  %-11s (%s)\n", "", strings.Join(k.fields, ", "))
		}
	}
	return b.String()
}

// kindsWith returns the names of the kinds that know a field; of all for "".
func kindsWith(field string) []string {
	var names []string
	for _, k := range kinds {
		if field == "" || slices.Contains(k.fields, field) {
			names = append(names, k.name)
		}
	}
	return names
}

// refusal says why the kind does not know a field.
func (k *kind) refusal(field string) string {
	with := strings.Join(kindsWith(field), " or a ")
	switch {
	case field == "duration" && slices.Contains(k.fields, "rounds"):
		return fmt.Sprintf("a %s ends when its rounds are done; give rounds", k.name)
	case field == "rounds" && slices.Contains(k.fields, "duration"):
		return fmt.Sprintf("a %s runs for a time; give duration", k.name)
	case field == "faults":
		return fmt.Sprintf("a %s has no faults of its own choice; put them into a %s", k.name, with)
	}
	return fmt.Sprintf("belongs to a %s, not to a %s", with, k.name)
}

// needs is what a kind of phase needs of its subject; "" is nothing.
type needs string

const needsGrants needs = "a lock or an election"

// suits says why a phase of the kind cannot be run with the subject.
func (k *kind) suits(s recipes.Subject) error {
	if k.needs == needsGrants && s.Recipe == recipes.RecipeQueue {
		return fmt.Errorf("%s grants nothing; a %s needs %s", s.Name, k.name, k.needs)
	}
	return nil
}

// handoff is about how long a hand-off takes, beside the time of holding.
const handoff = 10 * time.Millisecond

// phaseStart is about how long a phase takes beside what happens in it.
const phaseStart = 500 * time.Millisecond

// effort is about how long the phase takes with so many clients, in seconds.
func (p *Phase) effort(clients int) float64 {
	k := kindNamed(p.Kind)
	if k == nil {
		return 0
	}
	return (phaseStart + k.effort(p, clients)).Seconds()
}

// timedEffort is that of a phase that runs for a time.
func timedEffort(p *Phase, _ int) time.Duration { return p.Duration }

// drainEffort is that of rounds in each of which every client holds once.
func drainEffort(p *Phase, clients int) time.Duration {
	return time.Duration(max(p.Rounds, 1)*clients) * (p.Hold + handoff)
}

// memberFaults returns the faults of the phase that touch members, which an ensemble of
// somebody else's can have only by its owner's commands.
func (p *Phase) memberFaults() []string {
	return slices.DeleteFunc(p.faultNames(), func(name string) bool { return !chaos.TouchesMembers(name) })
}

// faultNames returns the names of all faults of the phase, each once.
func (p *Phase) faultNames() []string {
	names := namesOf(p.Faults, func(f Fault) string { return f.Fault })
	if k := kindNamed(p.Kind); k != nil && k.faults != nil {
		names = append(names, k.faults(p)...)
	}
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}
