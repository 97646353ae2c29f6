package scenarios

import (
	"math/rand/v2"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

var defaultMix = spec.Mix{Read: 80, Write: 20}

// holders returns the number of clients that may hold at the same time, but for readers.
func (st *stage) holders() int {
	if st.cell.Subject.Recipe == recipes.RecipeSemaphore {
		return min(st.scenario.PermitCount(), len(st.clients))
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
	if mix == (spec.Mix{}) {
		switch {
		case st.phase.Kind == spec.EpisodeKind && !st.counting.Load():
			if (int64(c.n)+c.calls.Load())%2 == 1 {
				return recipes.Read
			}
			return recipes.Write
		case spec.KindNamed(st.phase.Kind).Pace == history.ByHarness:
			return recipes.Write
		}
		mix = defaultMix
	}
	if st.phase.Single() {
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
