package spec

import (
	"maps"
	"testing"
	"time"
)

func TestPhase_paramsAreItsFieldsAsTexts(t *testing.T) {
	p := Phase{Name: "a", Kind: "succession", Rounds: 3, Leave: "lose", Order: []int{0, 2}, Hold: 20 * time.Millisecond}
	want := map[string]string{"rounds": "3", "leave": "lose", "order": "[0, 2]", "hold": "20ms"}
	if got := p.Params(); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p = Phase{Name: "b", Kind: "churn", Duration: time.Second, Faults: []Fault{{At: time.Second, Fault: "session.close"}}}
	want = map[string]string{"duration": "1s", "faults": "[{at: 1s, fault: session.close}]", "hold": "0s"}
	if got := p.Params(); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
