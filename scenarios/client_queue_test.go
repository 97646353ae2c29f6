package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos"
)

func TestParseEvent_readsEveryForm(t *testing.T) {
	for text, want := range map[string]event{
		"":               {"", 1},
		"first grant":    {firstGrant, 1},
		"client 3 holds": {holds, 3},
		"50% wait":       {wait, 50},
		"50 % wait":      {wait, 50},
		"100 grants":     {grants, 100},
	} {
		if got, err := parseEvent(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"client holds", "client -1 holds", "101% wait", "0% wait", "0 grants", "grants", "First grant", "9999999999 grants"} {
		if got, err := parseEvent(text); err == nil {
			t.Errorf("%q is an event: %+v", text, got)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, s := range []string{"client 3 holds", "50% wait", "100 grants", "first grant"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if e, err := parseEvent(s); err == nil && s != "" && (e.kind == "" || e.n < 0) {
			t.Errorf("%q: %+v", s, e)
		}
	})
}

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
		do    func(m *moments) // what must not fire it, then what must
		last  func(m *moments)
	}{
		{"first grant", func(m *moments) { m.acquiring(); m.acquired(1, false) }, func(m *moments) { m.acquired(2, true) }},
		{"client 3 holds", func(m *moments) { m.acquired(2, true); m.acquired(3, false) }, func(m *moments) { m.acquired(3, true) }},
		{"50% wait", func(m *moments) { m.acquiring(); m.acquired(0, true); m.acquiring() }, func(m *moments) { m.acquiring() }},
		{"3 grants", func(m *moments) { m.acquired(0, true); m.acquired(0, true) }, func(m *moments) { m.acquired(1, true) }},
	} {
		t.Run(row.event, func(t *testing.T) {
			m := newMoments([]plannedFault{{Fault: Fault{On: row.event}}}, 4)
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
	var m *moments
	m.acquiring()
	m.acquired(1, true) // a phase without faults costs nothing and needs nothing
}
