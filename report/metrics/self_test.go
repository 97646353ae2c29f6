package metrics

import (
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func TestSelf_keepsWhatTheHarnessSawOfItself(t *testing.T) {
	got := new(line).add(&history.Self{LateMax: 7, MaxBacklog: 3, CPU: new(0.5)}).measure()
	for name, want := range map[string]struct {
		unit  string
		value float64
	}{"self.late.max": {"ns", 7}, "self.backlog.max": {"1", 3}, "self.cpu.own": {"1", 0.5}} {
		if m := got[name]; m.Value == nil || m.Unit != want.unit || *m.Value != want.value {
			t.Errorf("%s is %+v, want %v", name, m, want)
		}
	}
	if m, ok := got["self.cpu.machine"]; ok {
		t.Errorf("nobody knows what the machine used, but there is %+v", m)
	}
}
