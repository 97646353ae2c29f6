package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/process"
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
				return errors.New("nothing can be run until what is marked no is cured")
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

// finding is one thing that was checked.
type finding struct {
	what, result, seen string
	cure               string // how, where it is not ok
}

// diagnosis is everything that was checked.
type diagnosis struct {
	docker, java error // nil: an ensemble of that kind can be had
	able         chaos.Abilities
	findings     []finding
}

// runs says whether an ensemble can be started here.
func (d diagnosis) runs() bool { return d.docker == nil || d.java == nil }

// probe returns what decides which faults this machine can have.
func probe(ctx context.Context) diagnosis {
	return diagnosis{docker: container.Available(ctx), java: process.Available(""), able: chaos.Probe()}
}

// examine checks everything.
func examine(ctx context.Context) diagnosis {
	d := probe(ctx)
	either := findingNo
	if d.runs() {
		either = findingWeak // the other kind does
	}
	d.works("Docker", d.docker, "an image can be had: members in containers", either)
	d.works("Java and ZooKeeper", d.java, "members as local JVMs", either)
	d.findings = append(d.findings, rights())
	d.works("network namespaces", d.able.Namespaces, "local JVMs get one each", findingWeak)
	d.works("nftables", d.able.Filter, "packets can be dropped", findingWeak)
	d.works("netem", d.able.Delay, "packets can be delayed", findingWeak)
	d.findings = append(d.findings, clockResolution(), cores(), memory(), openFiles(), diskSync())
	return d
}

// works adds the finding that something works, or does not: err says why, otherwise
// what that means for a run.
func (d *diagnosis) works(what string, err error, seen, otherwise string) {
	f := finding{what: what, result: findingOK, seen: seen}
	if err != nil {
		f.result, f.seen = otherwise, strings.TrimPrefix(err.Error(), "skipped: ")
	}
	d.findings = append(d.findings, f)
}

// here returns nil if this machine can have the fault, or why it cannot.
func (d diagnosis) here(k chaos.Kind) error {
	switch {
	case k.Absent != "":
		return errors.New(k.Absent)
	case !k.Members:
		return nil
	case !d.runs():
		return errors.New("no ensemble of our own can be started here")
	case !k.CutsNetworks():
		return nil
	}
	ours := d.able.Namespaces
	if ours == nil {
		ours = d.able.Filter
	}
	switch {
	case ours == nil && k.Delays():
		return d.able.Delay // the kernel is the same in a container, and so is what it lacks
	case d.docker == nil:
		return nil // Docker has the rights that we may lack
	}
	return ours
}

// skipped lists the faults that this machine cannot have, and why.
func (d diagnosis) skipped() (names []string, why []error) {
	for _, k := range chaos.Catalogue() {
		if err := d.here(k); err != nil {
			names, why = append(names, k.Name), append(why, err)
		}
	}
	return names, why
}

func (d diagnosis) print(w io.Writer) {
	for _, f := range d.findings {
		fmt.Fprintf(w, "%-5s %-19s %s\n", f.result, f.what, oneLine(f.seen))
		if f.cure != "" && f.result != findingOK {
			fmt.Fprintf(w, "%-5s %-19s cure: %s\n", "", "", f.cure)
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
	case d.docker == nil:
		fmt.Fprintln(w, "zkbench run herd can run here, in containers")
	case d.java == nil:
		fmt.Fprintln(w, "zkbench run herd can run here, on local JVMs")
	}
}

// oneLine puts an error of several lines on one.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
