package scenarios

import (
	"os"
	"runtime"
	"strconv"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

// hostFacts describes the machine. Facts that the system does not provide are absent.
func hostFacts() map[string]string {
	facts := map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": strconv.Itoa(runtime.NumCPU())}
	if name, err := os.Hostname(); err == nil {
		facts["name"] = name
	}
	if infos, err := cpu.Info(); err == nil && len(infos) > 0 {
		facts["cpu"] = infos[0].ModelName
	}
	if m, err := mem.VirtualMemory(); err == nil {
		facts["memory"] = strconv.FormatUint(m.Total>>20, 10) + " MiB"
	}
	if kernel, err := host.KernelVersion(); err == nil {
		facts["kernel"] = kernel
	}
	return facts
}
