package phases

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// With more busy processes than processors, one of them always waits.
func TestStalled_growsOnABusyMachine(t *testing.T) {
	if _, err := os.Stat("/proc/pressure/cpu"); err != nil {
		t.Skip("this kernel has no pressure stall information")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range runtime.NumCPU() + 1 {
		cmd := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
	}
	defer cancel() // before it waits for them
	for before := stalled(); stalled()-before < 100*time.Millisecond; {
		if ctx.Err() != nil {
			t.Fatal("no task waited")
		}
	}
}
