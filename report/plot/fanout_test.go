package plot

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
)

func TestStepCurve_staysLevelUntilTheNextPoint(t *testing.T) {
	got := stepCurve([]xy{{1, 2}, {3, 4}})
	if len(got) != 3 || got[1] != (xy{3, 2}) {
		t.Errorf("steps: %v; want a line that stays level until the next point", got)
	}
}

func TestHoldersAtOnce_countsThem(t *testing.T) {
	const s = time.Second
	holds := []report.Hold{{Client: 0, Start: 1 * s, End: 4 * s}, {Client: 1, Start: 2 * s, End: 3 * s}, {Client: 2, Start: 3 * s, End: 5 * s}, {Client: 3, Start: 2 * s, End: 3 * s, Reads: true}}
	want := []xy{{1, 1}, {2, 2}, {3, 1}, {3, 2}, {4, 1}, {5, 0}}
	if got := holdersAtOnce(holds, false); !slices.Equal(got, want) {
		t.Errorf("holders %v, want %v", got, want)
	}
	if got := holdersAtOnce(holds, true); !slices.Equal(got, []xy{{2, 1}, {3, 0}}) {
		t.Errorf("readers %v", got)
	}
	if HoldersAtOnce(Timeline{Clients: 4, Trace: &report.Trace{Permits: 1, Holds: holds}}) != nil {
		t.Error("a lock is drawn")
	}
	if f := HoldersAtOnce(Timeline{Clients: 4, Trace: &report.Trace{Permits: 3, Holds: holds}}); f == nil || f.body.Y.Max < 3 {
		t.Errorf("the permits have no room in %+v", f)
	}
}
