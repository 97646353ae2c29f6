package stage

import (
	"context"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// A phase whose duration is over goes on until what takes as long as it takes is done.
func TestTimed_waitsForARollingRestart(t *testing.T) {
	for _, row := range []struct {
		about string
		done  func(f *Faults, rolling, restart chaos.Window)
		over  bool
	}{
		{"no fault is done", func(*Faults, chaos.Window, chaos.Window) {}, false},
		{"one of two is done", func(f *Faults, rolling, _ chaos.Window) { f.recordActive(rolling) }, false},
		{"the same is noted twice", func(f *Faults, rolling, _ chaos.Window) { f.recordActive(rolling); f.recordActive(rolling) }, false},
		{"both are done", func(f *Faults, rolling, restart chaos.Window) { f.recordActive(rolling); f.recordActive(restart) }, true},
	} {
		t.Run(row.about, func(t *testing.T) {
			st := &Stage{Phase: spec.Phase{Duration: time.Nanosecond}, Clock: history.Start()}
			var entries []chaos.Entry
			for _, name := range []string{"member.rolling", "member.restart", "session.close"} {
				fault, err := chaos.Parse(name, "", nil)
				if err != nil {
					t.Fatal(err)
				}
				entries = append(entries, chaos.Entry{Fault: fault})
			}
			entries = append(entries, chaos.Entry{Fault: entries[0].Fault, For: time.Second}, chaos.Entry{Fault: entries[0].Fault, On: "client 3 holds"})
			st.Faults = NewFaults(t.Context(), st, entries, 1)
			row.done(st.Faults, chaos.Window{Fault: "member.rolling"}, chaos.Window{Fault: "member.restart"})
			over := false
			select {
			case <-st.Faults.settled:
				over = true
			default:
			}
			if over != row.over {
				t.Fatalf("it waits for nothing more: %v", over)
			}
			phase, _, end := st.Timed(t.Context())
			defer end()
			if row.over {
				<-phase.Done()
			} else if phase.Err() != nil {
				t.Error("the phase is over")
			}
		})
	}
}

func TestTimed_endsWithItsTrial(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fault, err := chaos.Parse("member.rolling", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	st := &Stage{Phase: spec.Phase{Duration: time.Nanosecond}, Clock: history.Start()}
	st.Faults = NewFaults(ctx, st, []chaos.Entry{{Fault: fault}}, 1)
	phase, _, end := st.Timed(ctx)
	defer end()
	cancel()
	<-phase.Done()
}
