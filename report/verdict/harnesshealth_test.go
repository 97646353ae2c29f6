package verdict

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

func TestHarnessHealth(t *testing.T) {
	good := func() history.HarnessLoad {
		return history.HarnessLoad{
			Ticks: 1000, LateTicks: 30, LateMax: 80 * time.Millisecond, MaxBacklog: 50, CPU: new(0.4), MachineCPU: new(0.99),
			Limits: history.HarnessLimits{Late: 3 * time.Second, LateShare: 0.2, Backlog: 1000, CPU: 0.9, MachineCPU: 1},
		}
	}
	for _, row := range []struct {
		about  string
		change func(s *history.HarnessLoad)
		want   string
		reason string
	}{
		{"a quiet machine is fit", func(*history.HarnessLoad) {}, Pass, ""},
		{"exactly at every limit is fit", func(s *history.HarnessLoad) {
			s.LateTicks, s.LateMax, s.MaxBacklog, s.CPU, s.MachineCPU = 200, 3*time.Second, 1000, new(0.9), new(1.0)
		}, Pass, ""},
		{"one dropped record is one too many", func(s *history.HarnessLoad) { s.Lost = 1 }, Unknown, "1 records were dropped"},
		{"a stall of the whole process", func(s *history.HarnessLoad) { s.LateMax = 3001 * time.Millisecond }, Unknown, "fired 3.001s late, more than the limit of 3s"},
		{"a scheduler that is late all the time", func(s *history.HarnessLoad) { s.LateTicks = 201 }, Unknown, "20.1 % of the harness's timers"},
		{"a disk that does not keep up", func(s *history.HarnessLoad) { s.MaxBacklog = 1001 }, Unknown, "1001 records waited"},
		{"a harness that is the bottleneck", func(s *history.HarnessLoad) { s.CPU = new(0.901) }, Unknown, "the harness used 90.1 % of all processors, more than the limit of 90 %"},
		{"a full machine, where the scenario forbids it", func(s *history.HarnessLoad) { s.Limits.MachineCPU = 0.95 }, Unknown, "the machine used 99 % of all processors, more than the limit of 95 %"},
		{"a machine whose use is not known", func(s *history.HarnessLoad) { s.CPU, s.MachineCPU = nil, nil }, Pass, ""},
	} {
		t.Run(row.about, func(t *testing.T) {
			self := good()
			row.change(&self)
			expect(t, history.Of(history.Header{}, &self), HarnessHealth, row.want, row.reason)
		})
	}
}
