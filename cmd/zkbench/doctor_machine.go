package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/zkbench/zkbench/ensembles/state"
)

func rights() finding {
	if os.Geteuid() == 0 {
		return finding{what: "rights", result: findingOK, seen: "root"}
	}
	return finding{"rights", findingWeak, fmt.Sprintf("user %d: no network namespaces for local JVMs", os.Geteuid()),
		"run as root, or use containers, to cut members' networks"}
}

// Limits of what measures well.
const (
	clockCoarse = 10 * time.Microsecond // a notification takes some 100 us
	coresFew    = 2
	memoryLeast = 1 << 30 // three members of 70 to 200 MB each, and the harness
	filesFew    = 4096    // a client has one, a container a few
	syncSlow    = 10 * time.Millisecond
)

// clockResolution measures the smallest step that the clock makes.
func clockResolution() finding {
	least := time.Hour
	for range 2000 {
		a := time.Now()
		d := time.Since(a)
		for d == 0 {
			d = time.Since(a)
		}
		least = min(least, d)
	}
	return finding{"clock", weakIf(least > clockCoarse), fmt.Sprintf("steps of %v", least),
		"choose a finer clock source of the kernel (tsc): short latencies will be rounded"}
}

func cores() finding {
	n := runtime.NumCPU()
	return finding{"cores", weakIf(n < coresFew), fmt.Sprint(n),
		fmt.Sprintf("give it %d or more: members and clients wait for each other", coresFew)}
}

func memory() finding {
	m, err := mem.VirtualMemory()
	if err != nil {
		return finding{what: "memory", result: findingWeak, seen: err.Error()}
	}
	return finding{"memory", weakIf(m.Available < memoryLeast), fmt.Sprintf("%d MiB available", m.Available>>20),
		fmt.Sprintf("free some: three members and the harness want %d MiB", memoryLeast>>20)}
}

// diskSync measures how long a small write takes to reach the disk that the members'
// transaction logs are on: every commit waits for one.
func diskSync() finding {
	took, err := syncLatency(state.Dir(), 20)
	if err != nil {
		return finding{what: "disk", result: findingNo, seen: err.Error(), cure: "set ZKBENCH_STATE to a folder that can be written"}
	}
	return finding{"disk", weakIf(took > syncSlow), fmt.Sprintf("a forced write takes %v (median)", took.Round(time.Microsecond)),
		"every commit waits for the disk: latencies will be the disk's; use a faster one"}
}

// syncLatency returns the median of n forced writes to a file in dir.
func syncLatency(dir string, n int) (time.Duration, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	took := make([]time.Duration, n)
	for i := range took {
		begin := time.Now()
		if _, err := file.Write(make([]byte, 512)); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return took[n/2], nil
}
