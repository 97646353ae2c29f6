package verdict

import (
	"maps"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func TestFit(t *testing.T) {
	good := map[string]int64{
		"ticks": 1000, "ticks.late": 30, "late.max": 80e6, "records.lost": 0, "backlog.max": 50, "cpu.own": 400, "cpu.machine": 990,
		"limit.ticks.late": 200, "limit.late.max": 3e9, "limit.backlog.max": 1000, "limit.cpu.own": 900, "limit.cpu.machine": 1000,
	}
	for _, row := range []struct {
		about  string
		change map[string]int64
		want   string
		reason string
	}{
		{"a quiet machine is fit", nil, Pass, ""},
		{"exactly at every limit is fit", map[string]int64{"ticks.late": 200, "late.max": 3e9, "backlog.max": 1000, "cpu.own": 900, "cpu.machine": 1000}, Pass, ""},
		{"one dropped record is one too many", map[string]int64{"records.lost": 1}, Unknown, "1 records were dropped"},
		{"a stall of the whole process", map[string]int64{"late.max": 3001e6}, Unknown, "fired 3.001s late, more than 3s"},
		{"a scheduler that is late all the time", map[string]int64{"ticks.late": 201}, Unknown, "20.1 % of the harness's timers"},
		{"a disk that does not keep up", map[string]int64{"backlog.max": 1001}, Unknown, "1001 records waited"},
		{"a harness that is the bottleneck", map[string]int64{"cpu.own": 901}, Unknown, "the harness used 90.1 % of all processors, more than 90 %"},
		{"a full machine, where the scenario forbids it", map[string]int64{"limit.cpu.machine": 950}, Unknown, "the machine used 99 % of all processors, more than 95 %"},
		{"an old history without limits is not judged", map[string]int64{"limit.late.max": -1}, "", ""},
	} {
		t.Run(row.about, func(t *testing.T) {
			counts := maps.Clone(good)
			maps.Copy(counts, row.change)
			if counts["limit.late.max"] < 0 {
				delete(counts, "limit.late.max")
			}
			h := history.Of(history.Header{}, history.Record{Note: &history.Note{Kind: history.Watch, Client: -1, Counts: counts}})
			got := Verdict{}
			for _, v := range Judge(h) {
				if v.Guarantee == Fit {
					got = v
				}
			}
			if got.Result != row.want || !strings.Contains(strings.Join(got.Reasons, "; "), row.reason) {
				t.Errorf("got %q %v, want %q because %q", got.Result, got.Reasons, row.want, row.reason)
			}
		})
	}
}
