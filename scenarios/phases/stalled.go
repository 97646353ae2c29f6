package phases

import (
	"context"
	"time"

	"github.com/prometheus/procfs"
	"github.com/shirou/gopsutil/v4/cpu"
)

// stalled returns for how long tasks of this machine have waited since it was started: for a processor,
// for memory and for I/O (Linux's pressure stall information, "some": Documentation/accounting/psi.rst),
// and for other virtual machines (steal, in proc_stat(5)). Its increase is a bound for the delay that the
// load of the machine caused. What the kernel does not report is not included.
func stalled() time.Duration {
	var sum time.Duration
	if fs, err := procfs.NewDefaultFS(); err == nil {
		for _, resource := range []string{"cpu", "memory", "io"} {
			if stats, err := fs.PSIStatsForResource(resource); err == nil && stats.Some != nil {
				sum += time.Duration(stats.Some.Total) * time.Microsecond
			}
		}
	}
	if times, err := cpu.TimesWithContext(context.Background(), false); err == nil && len(times) == 1 {
		sum += time.Duration(times[0].Steal * float64(time.Second))
	}
	return sum
}
