package scenarios

import (
	"github.com/zkbench/zkbench/report/units"
	"math/rand/v2"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

var defaultMix = Mix{Read: 80, Write: 20}

const (
	defaultPermits = 2
	maxPermits     = 1000
)

func (s *Scenario) validateShares(bad problemFunc) {
	between(bad, "permits", s.Permits, 0, maxPermits)
	if s.Permits > 0 && !s.any(recipes.RecipeSemaphore) {
		bad("permits", "no subject is a semaphore")
	}
	if s.Mix != (Mix{}) && !s.any(recipes.RecipeRWLock) {
		bad("mix", "no subject is a read-write lock")
	}
	for i, p := range s.Phases {
		if s.Permits > 1 && p.single() {
			bad("permits", "phases.%d is a %s, in which one client holds at a time: set permits to 1", i, p.Kind)
		}
	}
	between(bad, "mix.read", s.Mix.Read, 0, 1000)
	between(bad, "mix.write", s.Mix.Write, 0, 1000)
}

func (p Phase) single() bool {
	k := kindNamed(p.Kind)
	return k != nil && k.single
}

func (s *Scenario) any(r recipes.Recipe) bool {
	names := append(units.Names(s.Specimens, func(x Specimen) string { return x.Subject }), s.Subjects...)
	return slices.ContainsFunc(names, func(name string) bool {
		subject, err := s.find(name)
		return err == nil && subject.Recipe == r
	})
}

func (s *Scenario) permits() int {
	switch {
	case s.Permits > 0:
		return s.Permits
	case slices.ContainsFunc(s.Phases, Phase.single):
		return 1
	}
	return defaultPermits
}

func (s *Scenario) sized(subject recipes.Subject) recipes.Subject {
	switch {
	case subject.FormulasOf != nil:
		subject.Formulas = subject.FormulasOf(s.permits())
	case subject.Recipe == recipes.RecipeRWLock && s.Mix.Read > 0:
		subject.Formulas = recipes.Formulas{} // they are of writers
	}
	return subject
}

// holders returns the number of clients that may hold at the same time, but for readers.
func (st *stage) holders() int {
	if st.cell.Subject.Recipe == recipes.RecipeSemaphore {
		return min(st.scenario.permits(), len(st.clients))
	}
	return 1
}

// notInLine returns how many clients need not wait: those that may hold, and of a read-write lock those that
// do.
func (st *stage) notInLine() int {
	if st.cell.Subject.Recipe != recipes.RecipeRWLock {
		return st.holders()
	}
	n := 0
	for _, c := range st.clients {
		if c.inside.Load() {
			n++
		}
	}
	return n
}

// mode returns how the client acquires a read-write lock next. In an episode readers and writers
// alternate, over the clients and over the acquires of each.
func (c *client) mode() recipes.Mode {
	st := c.st
	if st.cell.Subject.Recipe != recipes.RecipeRWLock {
		return ""
	}
	mix := st.scenario.Mix
	if mix == (Mix{}) {
		switch {
		case st.phase.Kind == episodeKind && !st.counting.Load():
			if (int64(c.n)+c.calls.Load())%2 == 1 {
				return recipes.Read
			}
			return recipes.Write
		case kindNamed(st.phase.Kind).pace == history.ByHarness:
			return recipes.Write
		}
		mix = defaultMix
	}
	if st.phase.single() {
		return recipes.Write
	}
	if c.modes == nil {
		c.modes = rand.New(rand.NewPCG(st.planned.Seed, uint64(c.n)<<1|1))
	}
	if c.modes.IntN(mix.Read+mix.Write) < mix.Read {
		return recipes.Read
	}
	return recipes.Write
}

// shares reports whether other clients may hold at the same time as the client's last acquire: then it has no fencing
// token.
func (c *client) shares(mode recipes.Mode) bool {
	return mode == recipes.Read || c.st.cell.Subject.Recipe == recipes.RecipeSemaphore || c.st.barrier()
}
