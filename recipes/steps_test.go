package recipes

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/chaos/wire"
)

// Every protocol step of a recipe is a request. These tests disturb every one of
// them in every way, and ask for the same as always: the recipe gets there as long
// as its session lives, and leaves nothing behind.

// disturbance is a way to disturb one request.
type disturbance struct {
	name string
	rule wire.Rule
}

var disturbances = []disturbance{
	{"the reply is lost", wire.Rule{Act: wire.DropReply}},
	{"the request is lost", wire.Rule{Act: wire.DropRequest}},
	{"the connection is cut before it", wire.Rule{Act: wire.CutBefore}},
	{"it is held until the client gives the connection up", wire.Rule{Act: wire.HoldRequest}},
	{"the reply is lost and the connection stays", wire.Rule{Act: wire.DropReply, Keep: true}},
}

var opcodes = []wire.Op{wire.Create, wire.GetChildren2, wire.Exists, wire.GetData, wire.Delete, wire.Multi, wire.SetWatches}

// step is a way to disturb one request. arm has it disturb a client.
type step struct {
	rule wire.Rule
	shot wire.ArmedRule
}

func (s *step) arm(t *testing.T, c wire.Client) {
	t.Helper()
	shot, err := c.Arm(s.rule)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shot.Release)
	s.shot = shot
}

// fired reports whether the rule has hit a request so far.
func (s *step) fired() bool {
	select {
	case <-s.shot.Fired():
		return true
	default:
		return false
	}
}

// ended ends the rule and reports whether it has hit a request.
func (s *step) ended() bool { return s.fired() || !s.shot.Disarm() }

// eachStep runs f for every way to disturb every request, until there is no n-th
// request with that opcode to disturb. f arms the step and returns whether it has hit
// one.
func eachStep(t *testing.T, f func(t *testing.T, s *step) (hit bool)) {
	switch {
	case testing.Short():
		t.Skip("disturbs every step of every recipe: takes minutes")
	case raceDetector:
		// Conn.sendSetWatches reads lastZxid while recvLoop may write it already. The
		// recipes do not depend on it: they ask again after every reconnect.
		t.Skip("go-zookeeper itself has a data race when it reconnects")
	}
	var steps atomic.Int32
	t.Run("steps", func(t *testing.T) {
		for _, d := range disturbances {
			for _, op := range opcodes {
				t.Run(fmt.Sprintf("%s: %v", d.name, op), func(t *testing.T) {
					t.Parallel()
					for nth := 1; ; nth++ {
						hit := false
						rule := d.rule
						rule.Op, rule.Nth = op, nth
						t.Run(fmt.Sprint(nth), func(t *testing.T) { hit = f(t, &step{rule: rule}) })
						if !hit {
							return
						}
						steps.Add(1)
					}
				})
			}
		}
	})
	if n := int(steps.Load()); n < len(disturbances) {
		t.Errorf("only %d steps were disturbed: the table does not reach the recipe", n)
	} else {
		t.Logf("%d steps disturbed", n)
	}
}
