package scenarios

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
)

func TestParseStep_readsWhatItWrites(t *testing.T) {
	for _, x := range []struct {
		text   string
		client int
		kind   stepKind
	}{
		{"holder create #1", 0, atRequest},
		{"next exists #12", 1, atRequest},
		{"third notification #2", 2, atNotification},
		{"next acquire #1", 1, atCall},
		{"holder hold #1", 0, atCall},
		{"next wait #1", 1, atWait},
		{"producer put #3", 0, atCall},
		{"second delete #1", 2, atRequest},
	} {
		s, err := parseStep(x.text)
		if err != nil || s.String() != x.text || s.client() != x.client || s.kind() != x.kind {
			t.Errorf("%s: %v of client %d, kind %d (%v)", x.text, s, s.client(), s.kind(), err)
		}
	}
	for _, text := range []string{"", "next exists", "next exists #0", "next ping #1", "next closeSession #1", "nobody exists #1", "next any #1"} {
		if s, err := parseStep(text); err == nil {
			t.Errorf("%q was read as %v", text, s)
		}
	}
}

func TestStep_aimsAtItsOperation(t *testing.T) {
	for text, want := range map[string]wire.Rule{
		"next exists #2":       {Op: wire.Exists, Nth: 2, Act: wire.DropReply},
		"next notification #1": {Op: wire.Notified, Nth: 1, Act: wire.DropReply},
	} {
		s, err := parseStep(text)
		if got := s.rule(wire.DropReply); err != nil || got.String() != want.String() {
			t.Errorf("%s: aims at %v, want %v (%v)", text, got, want, err)
		}
	}
}

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

func names(steps []seenStep) (out []string) {
	for _, s := range steps {
		out = append(out, s.String())
	}
	return out
}

func TestStepsOf_countsEachOperationAndPutsTheCallsBetween(t *testing.T) {
	made := []seenStep{{step: step{op: callAcquire}}, {step: step{op: callHold}, at: 6500 * time.Microsecond}}
	script := frames(wire.Create, wire.GetChildren2, wire.Exists, wire.Ping, wire.Notified, wire.GetChildren2, wire.Delete, wire.CloseSession)
	script = append(script, wire.Frame{At: time.Hour, Kind: wire.ReplyFrame, Op: wire.Delete})
	got := stepsOf("next", script, made)
	want := []string{"next acquire #1", "next create #1", "next getChildren2 #1", "next exists #1", "next notification #1", "next getChildren2 #2", "next hold #1", "next delete #1"}
	if !slices.Equal(names(got), want) {
		t.Errorf("got  %q\nwant %q", names(got), want)
	}
	if got[1].under != callAcquire || got[7].under != callHold {
		t.Errorf("the create is under %q, the delete under %q", got[1].under, got[7].under)
	}
}

func TestStepsOf_takesTheFirstOfThoseThatHaveNoEnd(t *testing.T) {
	got := stepsOf("next", frames(wire.Create, wire.GetChildren2, wire.GetChildren2, wire.GetChildren2, wire.GetChildren2, wire.GetChildren2, wire.Delete), nil)
	want := []string{"next create #1", "next getChildren2 #1", "next getChildren2 #2", "next delete #1"}
	if !slices.Equal(names(got), want) {
		t.Errorf("got  %q\nwant %q", names(got), want)
	}
}

func TestStepWatch_keepsWhatAllCalmEpisodesShow(t *testing.T) {
	var w stepWatch
	if w.add(stepsOf("next", frames(wire.Create, wire.Exists, wire.GetChildren2), nil), recipes.Subject{}) {
		t.Error("one was enough")
	}
	w.add(stepsOf("next", frames(wire.Create, wire.GetChildren2, wire.GetChildren2), nil), recipes.Subject{})
	if !w.add(stepsOf("next", frames(wire.Create, wire.GetChildren2, wire.GetChildren2), nil), recipes.Subject{}) {
		t.Error("three were not enough")
	}
	if got, want := names(w.steps), []string{"next create #1", "next getChildren2 #1"}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
