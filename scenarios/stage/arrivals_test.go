package stage

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestArrivals_endAtOnce(t *testing.T) {
	a := newArrivals(&spec.Phase{Rate: 10, RateTo: 20, Duration: time.Minute}, 5*time.Second, 0)
	if due, ok := a.next(); !ok || due != 5*time.Second {
		t.Errorf("the first is due at %v (%v), want the beginning", due, ok)
	}
	a.end(5*time.Second + time.Millisecond)
	if due, ok := a.next(); ok {
		t.Errorf("one is due at %v, after the end", due)
	}
}
