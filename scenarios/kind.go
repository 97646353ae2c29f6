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

// kind is a kind of phase: its fields, its random choices, and its behaviour. Each kind
// is a value in its own file, kind_NAME.go.
type kind struct {
	name   string
	about  string       // one line, for lists
	pace   history.Pace // determines when its clients act
	needs  needs
	fields []string // fields of Phase that it has in addition to the common ones
	words  map[string][]string
	room   int  // extra packet size in bytes for the names of queued items
	opens  bool // run opens the clients' sessions itself

	// validate checks its fields.
	validate func(p *Phase, bad problemFunc)
	// fits checks the fields that depend on the subject; may be nil.
	fits func(p *Phase, s recipes.Subject, bad problemFunc)
	// tooFew returns why a number of clients is too small, or ""; may be nil.
	tooFew func(p *Phase, clients int) string
	// plan makes the random choices of the rounds from the seed; may be nil.
	plan func(p *Phase, r *rand.Rand, timeout time.Duration, clients int) []plannedRound
	// faults returns the faults that the kind injects itself; may be nil.
	faults func(p *Phase) []string
	effort func(p *Phase, clients int) time.Duration
	// run runs the phase. Afterwards every client has a session and none is in the queue.
	run func(ctx context.Context, st *stage) error
}

var kinds []*kind

func addKind(k kind) { kinds = append(kinds, &k) }

func kindNamed(name string) *kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	return nil
}

func kindNames() []string { return kindsWith("") }

// Kinds describes the kinds of phase, two lines each: the name, the behaviour, and its
// fields in addition to name, kind and hold.
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

// kindsWith returns the names of the kinds that have a field; of all kinds for "".
func kindsWith(field string) []string {
	var names []string
	for _, k := range kinds {
		if field == "" || slices.Contains(k.fields, field) {
			names = append(names, k.name)
		}
	}
	return names
}

// refusal returns why the kind does not have a field.
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

// needs is the requirement of a kind of phase for its subject; "" for none.
type needs string

const needsGrants needs = "a lock or an election"

// suits returns why a phase of the kind cannot run with the subject, or nil.
func (k *kind) suits(s recipes.Subject) error {
	if k.needs == needsGrants && s.Recipe == recipes.RecipeQueue {
		return fmt.Errorf("%s grants nothing; a %s needs %s", s.Name, k.name, k.needs)
	}
	return nil
}

// handoff is the approximate time of a hand-off without the hold time.
const handoff = 10 * time.Millisecond

// phaseStart is the approximate overhead of a phase.
const phaseStart = 500 * time.Millisecond

// effort estimates how long the phase takes with that number of clients, in seconds.
func (p *Phase) effort(clients int) float64 {
	k := kindNamed(p.Kind)
	if k == nil {
		return 0
	}
	return (phaseStart + k.effort(p, clients)).Seconds()
}

func timedEffort(p *Phase, _ int) time.Duration { return p.Duration }

func drainEffort(p *Phase, clients int) time.Duration {
	return time.Duration(max(p.Rounds, 1)*clients) * (p.Hold + handoff)
}

// memberFaults returns the faults of the phase that affect members; an external ensemble needs
// commands for them.
func (p *Phase) memberFaults() []string {
	return slices.DeleteFunc(p.faultNames(), func(name string) bool { return !chaos.TouchesMembers(name) })
}

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
