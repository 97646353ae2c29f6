package spec

import (
	"testing"
	"time"
)

func TestPhase_resizeMovesItsFaults(t *testing.T) {
	p := Phase{Duration: 10 * time.Second, Faults: []Fault{{At: 2 * time.Second, For: time.Second, Every: 3 * time.Second, Jitter: time.Second}}}
	p.resize(5 * time.Second)
	if f := p.Faults[0]; p.Duration != 5*time.Second || f.At != time.Second || f.For != 500*time.Millisecond ||
		f.Every != 1500*time.Millisecond || f.Jitter != 500*time.Millisecond {
		t.Errorf("half the time: %+v", p)
	}
}
