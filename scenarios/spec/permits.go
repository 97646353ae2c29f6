package spec

import (
	"slices"

	"github.com/zkbench/zkbench/recipes"
)

const (
	defaultPermits = 2
	maxPermits     = 1000
)

func (s *Scenario) validatePermitsAndMix(bad ProblemFunc) {
	Between(bad, "permits", s.Permits, 0, maxPermits)
	if s.Permits > 0 && !s.hasRecipe(recipes.RecipeSemaphore) {
		bad("permits", "no subject is a semaphore")
	}
	if s.Mix != (Mix{}) && !s.hasRecipe(recipes.RecipeRWLock) {
		bad("mix", "no subject is a read-write lock")
	}
	for i, p := range s.Phases {
		if s.Permits > 1 && p.Single() {
			bad("permits", "phases.%d is a %s, in which one client holds at a time: set permits to 1", i, p.Kind)
		}
	}
	Between(bad, "mix.read", s.Mix.Read, 0, 1000)
	Between(bad, "mix.write", s.Mix.Write, 0, 1000)
}

// Single reports whether the kind of phase requires that one client holds at a time.
func (p Phase) Single() bool {
	k := KindNamed(p.Kind)
	return k != nil && k.Single
}

func (s *Scenario) hasRecipe(r recipes.Recipe) bool {
	return slices.ContainsFunc(s.AllSubjects(), func(name string) bool {
		subject, err := s.Find(name)
		return err == nil && subject.Recipe == r
	})
}

// PermitCount returns the number of permits of the scenario's semaphores.
func (s *Scenario) PermitCount() int {
	switch {
	case s.Permits > 0:
		return s.Permits
	case slices.ContainsFunc(s.Phases, Phase.Single):
		return 1
	}
	return defaultPermits
}

func (s *Scenario) withFormulas(subject recipes.Subject) recipes.Subject {
	switch {
	case subject.FormulasOf != nil:
		subject.Formulas = subject.FormulasOf(s.PermitCount())
	case subject.Recipe == recipes.RecipeRWLock && s.Mix.Read > 0:
		subject.Formulas = recipes.Formulas{} // the formulas apply only to writers
	}
	return subject
}
