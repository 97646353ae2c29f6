package scenarios

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/audit"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// frames makes a transcript: a frame a millisecond, from 1 ms on.
func frames(ops ...wire.Op) (out []wire.Frame) {
	for i, op := range ops {
		f := wire.Frame{At: time.Duration(i+1) * time.Millisecond, Op: op}
		if op == wire.Notified {
			f.Kind = wire.NotificationFrame
		}
		out = append(out, f)
	}
	return out
}

func names(steps []spec.SeenStep) (out []string) {
	for _, s := range steps {
		out = append(out, s.String())
	}
	return out
}

func TestStepsOf_countsEachOperationAndPutsTheCallsBetween(t *testing.T) {
	made := []spec.SeenStep{{Step: spec.Step{Op: spec.CallAcquire}}, {Step: spec.Step{Op: spec.CallHold}, At: 6500 * time.Microsecond}}
	script := frames(wire.Create, wire.GetChildren2, wire.Exists, wire.Ping, wire.Notified, wire.GetChildren2, wire.Delete, wire.CloseSession)
	script = append(script, wire.Frame{At: time.Hour, Kind: wire.ReplyFrame, Op: wire.Delete})
	got := audit.StepsOf("next", script, made)
	want := []string{"next acquire #1", "next create #1", "next getChildren2 #1", "next exists #1", "next notification #1", "next getChildren2 #2", "next hold #1", "next delete #1"}
	if !slices.Equal(names(got), want) {
		t.Errorf("got  %q\nwant %q", names(got), want)
	}
	if got[1].Call != spec.CallAcquire || got[7].Call != spec.CallHold {
		t.Errorf("the create is under %q, the delete under %q", got[1].Call, got[7].Call)
	}
}

func TestStepsOf_takesTheFirstOfThoseThatHaveNoEnd(t *testing.T) {
	got := audit.StepsOf("next", frames(wire.Create, wire.GetChildren2, wire.GetChildren2, wire.GetChildren2, wire.GetChildren2, wire.GetChildren2, wire.Delete), nil)
	want := []string{"next create #1", "next getChildren2 #1", "next getChildren2 #2", "next delete #1"}
	if !slices.Equal(names(got), want) {
		t.Errorf("got  %q\nwant %q", names(got), want)
	}
}

func TestStepWatch_keepsWhatAllCalmEpisodesShow(t *testing.T) {
	var w spec.StepWatch
	if w.Add(audit.StepsOf("next", frames(wire.Create, wire.Exists, wire.GetChildren2), nil), recipes.Subject{}) {
		t.Error("one was enough")
	}
	w.Add(audit.StepsOf("next", frames(wire.Create, wire.GetChildren2, wire.GetChildren2), nil), recipes.Subject{})
	if !w.Add(audit.StepsOf("next", frames(wire.Create, wire.GetChildren2, wire.GetChildren2), nil), recipes.Subject{}) {
		t.Error("three were not enough")
	}
	if got, want := names(w.Steps), []string{"next create #1", "next getChildren2 #1"}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
