package stage

import (
	"math/rand/v2"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
)

var defaultMix = spec.Mix{Read: 80, Write: 20}

// Holders returns the number of clients that may hold at the same time, not counting readers.
func (st *Stage) Holders() int {
	if st.Cell.Subject.Recipe == recipes.RecipeSemaphore {
		return min(st.Scenario.PermitCount(), len(st.Clients))
	}
	return 1
}

// NotInLine returns the number of clients that need not wait in line: [Stage.Holders], or for a read-write lock
// the clients that hold now.
func (st *Stage) NotInLine() int {
	if st.Cell.Subject.Recipe != recipes.RecipeRWLock {
		return st.Holders()
	}
	n := 0
	for _, c := range st.Clients {
		if c.Inside.Load() {
			n++
		}
	}
	return n
}

// mode returns the mode of the client's next acquire of a read-write lock. In an episode the modes alternate
// from client to client, and from each acquire of a client to its next.
func (c *Client) mode() recipes.Mode {
	st := c.Stage
	if st.Cell.Subject.Recipe != recipes.RecipeRWLock {
		return ""
	}
	mix := st.Scenario.Mix
	if mix == (spec.Mix{}) {
		switch {
		case st.Phase.Kind == spec.EpisodeKind && !st.Counting.Load():
			if (int64(c.Number)+c.calls.Load())%2 == 1 {
				return recipes.Read
			}
			return recipes.Write
		case spec.KindNamed(st.Phase.Kind).Pace == history.ByHarness:
			return recipes.Write
		}
		mix = defaultMix
	}
	if st.Phase.Single() {
		return recipes.Write
	}
	if c.modes == nil {
		c.modes = rand.New(rand.NewPCG(st.Planned.Seed, uint64(c.Number)<<1|1))
	}
	if c.modes.IntN(mix.Read+mix.Write) < mix.Read {
		return recipes.Read
	}
	return recipes.Write
}

// shares reports whether other clients may hold at the same time as this client after an acquire in this mode.
// Such a grant has no fencing token.
func (c *Client) shares(mode recipes.Mode) bool {
	return mode == recipes.Read || c.Stage.Cell.Subject.Recipe == recipes.RecipeSemaphore || c.Stage.IsBarrier()
}
