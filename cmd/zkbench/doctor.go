package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/mem"
	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles/state"
)

func doctorCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can do, which faults will be skipped and why, what to install",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := examine(cmd.Context())
			d.print(cmd.OutOrStdout())
			switch {
			case cmd.Context().Err() != nil:
				return nil
			case !d.runs():
				return errors.New("no ensemble can be started here; one that is up elsewhere can be used with --servers")
			case slices.ContainsFunc(d.findings, func(f finding) bool { return f.result == findingNo }):
				return errors.New("nothing can be run until what is marked no is mended")
			}
			return nil
		},
	}
}

// What a finding means for a run.
const (
	findingOK   = "ok"
	findingWeak = "weak" // it works, and what is measured will suffer
	findingNo   = "no"
)

// finding is what the doctor found about one thing.
type finding struct {
	what, result, seen string
	mend               string // how, where it is not ok
}

// diagnosis is everything that the doctor found.
type diagnosis struct {
	able     chaos.Abilities
	findings []finding
}

// runs says whether the main job can be done: there can be an ensemble.
func (d diagnosis) runs() bool { return d.able.Docker == nil || d.able.Java == nil }

// examine looks at everything.
func examine(ctx context.Context) diagnosis {
	d := diagnosis{able: chaos.Probe(ctx)}
	either := findingNo
	if d.runs() {
		either = findingWeak // the other kind does
	}
	d.works("Docker", d.able.Docker, "an image can be had: members in containers", either)
	d.works("Java and ZooKeeper", d.able.Java, "members as local JVMs", either)
	d.findings = append(d.findings, rights())
	d.works("network namespaces", d.able.Namespaces, "local JVMs get one each", findingWeak)
	d.works("nftables", d.able.Filter, "packets can be dropped", findingWeak)
	d.works("netem", d.able.Delay, "packets can be delayed", findingWeak)
	d.findings = append(d.findings, clockResolution(), cores(), memory(), openFiles(), diskSync())
	return d
}

// works takes in whether something works; otherwise says what that means where it does not.
func (d *diagnosis) works(what string, err error, seen, otherwise string) {
	f := finding{what: what, result: findingOK, seen: seen}
	if err != nil {
		f.result, f.seen = otherwise, strings.TrimPrefix(err.Error(), "skipped: ")
	}
	d.findings = append(d.findings, f)
}

// skipped lists the faults that this machine cannot have, and why.
func (d diagnosis) skipped() (names []string, why []error) {
	for _, k := range chaos.Catalogue() {
		if err := k.Missing(d.able); err != nil {
			names, why = append(names, k.Name), append(why, err)
		}
	}
	return names, why
}

func (d diagnosis) print(w io.Writer) {
	for _, f := range d.findings {
		fmt.Fprintf(w, "%-5s %-19s %s\n", f.result, f.what, oneLine(f.seen))
		if f.mend != "" && f.result != findingOK {
			fmt.Fprintf(w, "%-5s %-19s mend: %s\n", "", "", f.mend)
		}
	}
	fmt.Fprintln(w)
	names, why := d.skipped()
	if len(names) == 0 {
		fmt.Fprintf(w, "all %d faults can be had\n", len(chaos.Catalogue()))
	}
	for i := range names {
		if slices.ContainsFunc(why[:i], func(e error) bool { return e.Error() == why[i].Error() }) {
			continue
		}
		var alike []string
		for k := range names {
			if why[k].Error() == why[i].Error() {
				alike = append(alike, names[k])
			}
		}
		fmt.Fprintf(w, "skipped: %s: %s\n", strings.Join(alike, ", "), oneLine(strings.TrimPrefix(why[i].Error(), "skipped: ")))
	}
	if slices.ContainsFunc(d.findings, func(f finding) bool { return f.result == findingNo }) {
		return
	}
	switch {
	case d.able.Docker == nil:
		fmt.Fprintln(w, "zkbench run herd can run here, in containers")
	case d.able.Java == nil:
		fmt.Fprintln(w, "zkbench run herd can run here, on local JVMs")
	}
}

// oneLine puts an error of several lines on one.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func rights() finding {
	f := finding{what: "rights", result: findingOK, seen: "root"}
	if os.Geteuid() != 0 {
		f.result, f.seen = findingWeak, fmt.Sprintf("user %d: no network namespaces for local JVMs", os.Geteuid())
		f.mend = "run as root, or use containers, to cut members' networks"
	}
	return f
}

// Limits of what measures well.
const (
	clockCoarse = 10 * time.Microsecond // a notification takes some 100 us
	coresFew    = 2
	memoryLeast = 1 << 30 // three members of 70 to 200 MB each, and the lab
	filesFew    = 4096    // a client has one, a container a few
	syncSlow    = 10 * time.Millisecond
)

// clockResolution takes the smallest step that the clock makes.
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
	f := finding{what: "clock", result: findingOK, seen: fmt.Sprintf("steps of %v", least)}
	if least > clockCoarse {
		f.result, f.mend = findingWeak, "choose a finer clock source of the kernel (tsc): short latencies will be rounded"
	}
	return f
}

func cores() finding {
	n := runtime.NumCPU()
	f := finding{what: "cores", result: findingOK, seen: fmt.Sprint(n)}
	if n < coresFew {
		f.result, f.mend = findingWeak, fmt.Sprintf("give it %d or more: members and clients wait for each other", coresFew)
	}
	return f
}

func memory() finding {
	m, err := mem.VirtualMemory()
	if err != nil {
		return finding{what: "memory", result: findingWeak, seen: err.Error()}
	}
	f := finding{what: "memory", result: findingOK, seen: fmt.Sprintf("%d MiB available", m.Available>>20)}
	if m.Available < memoryLeast {
		f.result, f.mend = findingWeak, fmt.Sprintf("free some: three members and the lab want %d MiB", memoryLeast>>20)
	}
	return f
}

// diskSync takes how long a small write takes to reach the disk that the members'
// transaction logs are on: every commit waits for one.
func diskSync() finding {
	took, err := syncLatency(state.Dir(), 20)
	if err != nil {
		return finding{what: "disk", result: findingNo, seen: err.Error(), mend: "set ZKBENCH_STATE to a folder that can be written"}
	}
	f := finding{what: "disk", result: findingOK, seen: fmt.Sprintf("a forced write takes %v (median)", took.Round(time.Microsecond))}
	if took > syncSlow {
		f.result, f.mend = findingWeak, "every commit waits for the disk: latencies will be the disk's; use a faster one"
	}
	return f
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
