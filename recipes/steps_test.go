package recipes

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

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

// disturbed is a client of which one request is disturbed, beside a helper that nothing disturbs.
type disturbed struct {
	ctx       context.Context
	path      string // exists
	s, helper *Session
	tap       wire.Client
	rule      wire.Rule
	shot      wire.ArmedRule
}

// arm begins the disturbance.
func (d *disturbed) arm(t *testing.T) {
	t.Helper()
	shot, err := d.tap.Arm(d.rule)
	must(t, err)
	t.Cleanup(shot.Release)
	d.shot = shot
}

// fired reports whether the rule has hit a request so far.
func (d *disturbed) fired() bool {
	select {
	case <-d.shot.Fired():
		return true
	default:
		return false
	}
}

// eachStep runs f, in parallel to other tests, for every way to disturb every request, until there is no
// n-th request with that opcode to disturb.
func eachStep(t *testing.T, f func(t *testing.T, d *disturbed)) {
	t.Parallel()
	helper := open(t, nil)
	run := func(t *testing.T, rule wire.Rule) (hit bool) {
		t.Run(fmt.Sprint(rule.Nth), func(t *testing.T) {
			d := &disturbed{ctx: within(t, 30*time.Second), path: madePath(t, helper), helper: helper, rule: rule}
			d.s, d.tap = tapped(t)
			f(t, d)
			hit = d.fired() || !d.shot.Disarm()
		})
		return hit
	}
	// Disturbing every step takes minutes. With a race detector it would find that go-zookeeper itself has a
	// data race when it reconnects: Conn.sendSetWatches reads lastZxid while recvLoop may write it already. The
	// recipes do not depend on it: they ask again after every reconnect.
	if testing.Short() || raceDetector {
		run(t, wire.Rule{Op: wire.Create, Act: wire.DropReply, Nth: 1000}) // hits nothing
		return
	}
	var steps atomic.Int32
	t.Run("steps", func(t *testing.T) {
		for _, d := range disturbances {
			for _, op := range opcodes {
				t.Run(fmt.Sprintf("%s: %v", d.name, op), func(t *testing.T) {
					t.Parallel()
					rule := d.rule
					for rule.Op, rule.Nth = op, 1; run(t, rule); rule.Nth++ {
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
