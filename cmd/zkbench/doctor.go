package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/mem"
	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes/foreign"
)

func doctorCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Show the supported and the missing features of this machine",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := examine(cmd.Context())
			d.print(cmd.OutOrStdout())
			switch {
			case cmd.Context().Err() != nil:
				return nil
			case !d.canRun():
				return errors.New("no ensemble can be started here; use --servers to connect to an existing ensemble")
			case d.hasProblem():
				return errors.New("nothing can be run until the items marked \"no\" are fixed")
			}
			return nil
		},
	}
}

const (
	findingOK   = "ok"
	findingWeak = "weak" // usable, but measurements are affected
	findingNo   = "no"
)

type finding struct {
	what, result, seen string
	fix                string // how to fix it
}

func weakIf(bad bool) string {
	if bad {
		return findingWeak
	}
	return findingOK
}

type diagnosis struct {
	abilities chaos.Abilities
	findings  []finding
}

func (d diagnosis) canRun() bool { return d.abilities.Docker == nil || d.abilities.Java == nil }

func (d diagnosis) hasProblem() bool {
	return slices.ContainsFunc(d.findings, func(f finding) bool { return f.result == findingNo })
}

func examine(ctx context.Context) diagnosis {
	d := diagnosis{abilities: chaos.Probe(ctx)}
	either := findingNo
	if d.canRun() {
		either = findingWeak // the other kind of ensemble works
	}
	d.addCheck("Docker", d.abilities.Docker, "an image is available: members can run in containers", either)
	d.addCheck("Java and ZooKeeper", d.abilities.Java, "members can run as local JVMs"+versionsText(process.Versions()), either)
	d.findings = append(d.findings, rights(d.abilities))
	d.addCheck("network namespaces", d.abilities.Namespaces, "each local JVM gets its own network namespace", findingWeak)
	d.addCheck("nftables", d.abilities.Filter, "packets can be dropped", findingWeak)
	d.addCheck("netem", d.abilities.Delay, "packets can be delayed", findingWeak)
	d.addCheck("FUSE", d.abilities.Disks, "the disks of local JVMs can be slow or fail", findingWeak)
	for _, l := range foreign.Libraries() {
		d.addCheck(l.Name(), l.Missing(), "drivers of its recipes can be started"+versionsText(foreign.Versions(l)), findingWeak)
	}
	d.findings = append(d.findings, memory(), diskSync())
	return d
}

func versionsText(versions []string) string {
	if len(versions) == 0 {
		return ""
	}
	return "; versions: " + strings.Join(versions, ", ")
}

// addCheck adds a finding. If err is not nil, it is the reason, and otherwise is the finding's result.
func (d *diagnosis) addCheck(what string, err error, seen, otherwise string) {
	f := finding{what: what, result: findingOK, seen: seen}
	if err != nil {
		f.result, f.seen = otherwise, strings.TrimPrefix(err.Error(), "skipped: ")
	}
	d.findings = append(d.findings, f)
}

func (d diagnosis) print(w io.Writer) {
	for _, f := range d.findings {
		fmt.Fprintf(w, "%-5s %-19s %s\n", f.result, f.what, oneLine(f.seen))
		if f.fix != "" && f.result != findingOK {
			fmt.Fprintf(w, "%-5s %-19s fix: %s\n", "", "", f.fix)
		}
	}
	fmt.Fprintln(w)
	var whys []string              // why faults are not available
	names := map[string][]string{} // the faults, by reason
	for _, k := range chaos.Catalogue() {
		if err := k.CheckMachine(d.abilities); err != nil {
			why := oneLine(strings.TrimPrefix(err.Error(), "skipped: "))
			if names[why] == nil {
				whys = append(whys, why)
			}
			names[why] = append(names[why], k.Name)
		}
	}
	if len(whys) == 0 {
		fmt.Fprintf(w, "all %d faults are available\n", len(chaos.Catalogue()))
	}
	for _, why := range whys {
		fmt.Fprintf(w, "skipped: %s: %s\n", strings.Join(names[why], ", "), why)
	}
	switch {
	case d.hasProblem():
	case d.abilities.Docker == nil:
		fmt.Fprintln(w, "zkbench run herd can run here, in containers")
	case d.abilities.Java == nil:
		fmt.Fprintln(w, "zkbench run herd can run here, on local JVMs")
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// rights returns the finding about the permission to create networks for local JVMs.
func rights(a chaos.Abilities) finding {
	f := finding{what: "rights", result: weakIf(a.Namespaces != nil && !a.Rootless)}
	f.seen = fmt.Sprintf("user %d", os.Geteuid())
	if os.Geteuid() == 0 {
		f.seen = "root"
	}
	const fix = "run as root, or use containers, to cut members' networks"
	var refused *rootless.RefusedError
	switch {
	case a.Rootless:
		f.seen += ", and zkbench restarts itself in new namespaces for this user"
	case errors.As(a.Namespaces, &refused):
		f.seen += ", which does not have permission to create namespaces: " + refused.Why
		f.fix = refused.Fix + ", or " + fix
	case a.Namespaces != nil:
		f.seen, f.fix = f.seen+", which does not have permission to create network namespaces", fix
	}
	return f
}

const (
	minMemory      = 1 << 30 // three members of 70 to 200 MB each, and the harness
	maxSyncLatency = 10 * time.Millisecond
)

func memory() finding {
	m, err := mem.VirtualMemory()
	if err != nil {
		return finding{what: "memory", result: findingWeak, seen: err.Error()}
	}
	return finding{"memory", weakIf(m.Available < minMemory), fmt.Sprintf("%d MiB available", m.Available>>20),
		fmt.Sprintf("free memory: three members and zkbench need %d MiB", minMemory>>20)}
}

// diskSync measures a small forced write to the disk of the members' transaction logs: every commit
// waits for such a write.
func diskSync() finding {
	took, err := syncLatency(state.Dir(), 20)
	if err != nil {
		return finding{what: "disk", result: findingNo, seen: err.Error(), fix: "set ZKBENCH_STATE to a writable folder"}
	}
	return finding{"disk", weakIf(took > maxSyncLatency), fmt.Sprintf("a forced write takes %v (median)", took.Round(time.Microsecond)),
		"use a faster disk: every commit waits for it, so the disk determines the latencies"}
}

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
		if _, err = file.Write(make([]byte, 512)); err == nil {
			err = file.Sync()
		}
		if err != nil {
			return 0, err
		}
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return took[n/2], nil
}
