package scenarios

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

// Limits on streams: what one process can put in time, and what fits into a znode.
const (
	maxProducers = 1000
	maxRate      = 100_000
	maxSize      = 1<<20 - 4096
)

// validateSuccession checks what a succession needs.
func (p *Phase) validateSuccession(at string, bad func(field, format string, args ...any)) {
	p.validateRounds(at, bad)
	if !slices.Contains(leaves, p.Leave) {
		bad(at+".leave", "%q is no way to leave%s", p.Leave, units.Nearest(p.Leave, leaves))
	}
	if len(p.Order) == 0 {
		bad(at+".order", "is missing: the clients that leave, like [0, 1, 3, 4, 2]")
	}
	seen := map[int]bool{}
	for i, n := range p.Order {
		if n < 0 || n >= maxClients || seen[n] {
			bad(fmt.Sprintf("%s.order.%d", at, i), "%d is not a client's number, or stands there twice", n)
		}
		seen[n] = true
	}
}

func (p *Phase) validateFlap(at string, bad func(field, format string, args ...any)) {
	p.validateRounds(at, bad)
}

// validateRounds checks a phase that ends when its rounds are done.
func (p *Phase) validateRounds(at string, bad func(field, format string, args ...any)) {
	if p.Rounds < 1 || p.Rounds > maxRounds {
		bad(at+".rounds", "%d is not between 1 and %d", p.Rounds, maxRounds)
	}
	if p.Duration != 0 {
		bad(at+".duration", "a %s ends when its rounds are done; give rounds", p.Kind)
	}
	if len(p.Faults) > 0 {
		bad(at+".faults", "a %s has no faults of its own choice; put them into a churn or stream phase", p.Kind)
	}
}

func (p *Phase) validateStream(at string, bad func(field, format string, args ...any)) {
	if p.Duration <= 0 || p.Duration > maxDuration {
		bad(at+".duration", "%v is not between 1ns and %v", p.Duration, maxDuration)
	}
	if p.Rounds != 0 {
		bad(at+".rounds", "a stream runs for a time; give duration")
	}
	if p.Producers < 1 || p.Producers > maxProducers {
		bad(at+".producers", "%d is not between 1 and %d", p.Producers, maxProducers)
	}
	if !(p.Rate > 0 && p.Rate <= maxRate) { // NaN is neither
		bad(at+".rate", "%v items a second is not above 0 and up to %d", p.Rate, maxRate)
	}
}

// validateMatch checks that the i-th phase goes with the subjects and the client
// counts, and has no field that its kind does not know.
func (s *Scenario) validateMatch(i int, bad func(field, format string, args ...any)) {
	p, at := &s.Phases[i], fmt.Sprintf("phases.%d", i)
	for _, name := range s.Subjects {
		subject, err := recipes.Find(name)
		if err != nil {
			continue // told already
		}
		switch {
		case p.Kind == Succession && subject.Recipe == recipes.RecipeQueue:
			bad(at+".kind", "%s has no leader who could be succeeded; a succession needs a lock or an election", name)
		case p.Kind == Stream && subject.Recipe != recipes.RecipeQueue:
			bad(at+".kind", "%s takes no items; a stream needs a queue", name)
		}
	}
	for _, n := range s.Clients {
		switch {
		case p.Kind == Succession && len(p.Order) > 0 && n <= slices.Max(p.Order):
			bad("clients", "%d candidates have no number %d, which is to leave in %s.order", n, slices.Max(p.Order), at)
		case p.Kind == Flap && n < 2:
			bad("clients", "%d leaves nobody to wait while %s flaps", n, at)
		}
	}
	p.validateForeign(at, bad)
}

// validateForeign refuses fields that another kind of phase knows: a field without
// effect would lie about what was run.
func (p *Phase) validateForeign(at string, bad func(field, format string, args ...any)) {
	for _, of := range []struct {
		field string
		given bool
		kind  string
	}{
		{"leave", p.Leave != "", Succession}, {"order", p.Order != nil, Succession},
		{"producers", p.Producers != 0, Stream}, {"rate", p.Rate != 0, Stream},
	} {
		if of.given && p.Kind != of.kind && slices.Contains(phaseKinds, p.Kind) {
			bad(at+"."+of.field, "belongs to a %s, not to a %s", of.kind, p.Kind)
		}
	}
	if p.Size < 0 || p.Size > maxSize {
		bad(at+".size", "%d bytes is not between 0 and %d", p.Size, maxSize)
	}
}
