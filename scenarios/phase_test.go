package scenarios

import (
	"maps"
	"testing"
	"time"
)

func TestPhase_paramsAreItsFieldsAsTexts(t *testing.T) {
	p := Phase{Name: "a", Kind: "succession", Rounds: 3, Leave: "lose", Order: []int{0, 2}, Hold: 20 * time.Millisecond}
	want := map[string]string{"rounds": "3", "leave": "lose", "order": "[0, 2]", "hold": "20ms"}
	if got := p.params(); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p = Phase{Name: "b", Kind: "churn", Duration: time.Second, Faults: []Fault{{At: time.Second, Fault: "session.close"}}}
	want = map[string]string{"duration": "1s", "faults": "[{at: 1s, fault: session.close}]", "hold": "0s"}
	if got := p.params(); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPhase_namesAreUnique(t *testing.T) {
	_, err := Load("x", []byte(`{name: x, subjects: [lock/parent], clients: [2], session_timeout: 4s,
		phases: [{name: a, kind: drain, rounds: 1, hold: 0s}, {name: a, kind: churn, duration: 1s, hold: 0s}]}`))
	if err == nil || err.Error() != "x:2:64: phases.1.name: another phase is already named a" {
		t.Errorf("got %v, want the second name refused in its place", err)
	}
}
