package stage

import (
	"context"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/scenarios/spec"
	"pgregory.net/rapid"
)

// marked is a fault that marks its injection.
type marked struct{ c chan string }

func (marked) String() string { return "marked" }

func (f marked) Inject(context.Context, chaos.Target) (chaos.Effect, error) {
	f.c <- "now"
	return chaos.Effect{Client: -1, Proof: "marked"}, nil
}

func TestMoments_fireOnceAndInTime(t *testing.T) {
	for _, row := range []struct {
		event string
		do    func(m *eventTrigger) // what must not fire it, then what must
		last  func(m *eventTrigger)
	}{
		{"first grant", func(m *eventTrigger) { m.acquiring(); m.acquired(1, false) }, func(m *eventTrigger) { m.acquired(2, true) }},
		{"client 3 holds", func(m *eventTrigger) { m.acquired(2, true); m.acquired(3, false) }, func(m *eventTrigger) { m.acquired(3, true) }},
		{"50% wait", func(m *eventTrigger) { m.acquiring(); m.acquired(0, true); m.acquiring() }, func(m *eventTrigger) { m.acquiring() }},
		{"3 grants", func(m *eventTrigger) { m.acquired(0, true); m.acquired(0, true) }, func(m *eventTrigger) { m.acquired(1, true) }},
	} {
		t.Run(row.event, func(t *testing.T) {
			m := newEventTrigger([]spec.PlannedFault{{Fault: spec.Fault{On: row.event}}}, 4)
			f := marked{make(chan string, 1)}
			start := time.Now()
			played := make(chan error)
			go func() {
				played <- chaos.Plan{
					Entries: []chaos.Entry{{Fault: f, On: row.event}}, Events: &m.Events,
					Now: func() time.Duration { return time.Since(start) },
				}.Play(t.Context(), chaos.Target{})
			}()
			row.do(m)
			select {
			case <-f.c:
				t.Fatal("it was played too early")
			case <-time.After(20 * time.Millisecond): // nothing to wait for: the absence is what is tested
			}
			row.last(m)
			row.last(m) // once is enough
			<-f.c
			if err := <-played; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMoments_nobodyWaits(t *testing.T) {
	var m *eventTrigger
	m.acquiring()
	m.acquired(1, true) // a phase without faults costs nothing and needs nothing
}

func TestFill_keepsTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[0-9]{1,4}-[0-9]{1,9}`).Draw(t, "id")
		size := rapid.IntRange(0, 300).Draw(t, "size")
		item := fill(id, size)
		if got := ItemIDOf(item); got != id {
			t.Fatalf("the identity of item %q reads %q", id, got)
		}
		if want := max(size, len(id)); len(item) != want {
			t.Fatalf("%d bytes, want %d", len(item), want)
		}
	})
	if got := ItemIDOf(make([]byte, 1000)); len(got) != 64 {
		t.Errorf("the identity of a foreign item has %d bytes, want the first 64", len(got))
	}
}
