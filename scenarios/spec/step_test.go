package spec

import (
	"testing"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestParseStep_readsWhatItWrites(t *testing.T) {
	for _, x := range []struct {
		text   string
		client int
		kind   StepKind
	}{
		{"holder create #1", 0, AtRequest},
		{"next exists #12", 1, AtRequest},
		{"third notification #2", 2, AtNotification},
		{"next acquire #1", 1, AtCall},
		{"holder hold #1", 0, AtCall},
		{"next wait #1", 1, AtWait},
		{"producer put #3", 0, AtCall},
		{"second delete #1", 2, AtRequest},
	} {
		s, err := parseStep(x.text)
		if err != nil || s.String() != x.text || s.Client() != x.client || s.Kind() != x.kind {
			t.Errorf("%s: %v of client %d, kind %d (%v)", x.text, s, s.Client(), s.Kind(), err)
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
		if got := s.Rule(wire.DropReply); err != nil || got.String() != want.String() {
			t.Errorf("%s: aims at %v, want %v (%v)", text, got, want, err)
		}
	}
}
