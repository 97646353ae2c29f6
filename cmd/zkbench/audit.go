package main

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func auditCmd() *cobra.Command {
	var f runFlags
	var a auditFlags
	rejected := rejectedFlags{
		"subject":  "--subject: name subjects as arguments: zkbench audit lock/predecessor",
		"clients":  "--clients: an episode has 3 clients; remove the flag",
		"trials":   "--trials: an audit runs every cell once; run it again with another --seed",
		"ab":       "--ab: pass both subjects as arguments to see their matrices side by side: zkbench audit lock/a lock/b",
		"replay":   "--replay: to repeat an audit, use zkbench rerun DIR",
		"duration": "--duration: use --depth 2 and --budget to set the time for pairs of faults",
	}
	cmd := &cobra.Command{
		Use:   "audit SUBJECT ...",
		Short: "Test every protocol step against every applicable fault",
		Long:  page("audit"),
		Example: `  zkbench audit lock/predecessor
  zkbench audit lock/mine --cell 'next exists #1/reply.drop' --seed 7
  zkbench audit lock/mine --depth 2 --budget 5m`,
		ValidArgsFunction: completeSubjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := rejected.check(cmd); err != nil {
				return err
			}
			if len(args) == 0 {
				return usageError("no subject given; name one, for example: zkbench audit lock/predecessor (zkbench list subjects)")
			}
			set, err := a.overrides(args)
			if err != nil {
				return err
			}
			f.scenario.set = append(set, f.scenario.set...)
			return f.runAll(cmd, []string{"audit"})
		},
	}
	f.register(cmd)
	rejected.hide(cmd)
	a.register(cmd)
	return cmd
}

type auditFlags struct {
	cells  []string
	also   []string
	depth  int
	budget time.Duration
}

func (a *auditFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&a.cells, "cell", nil, "run only this cell, for example 'next exists #1/reply.drop' (repeatable)")
	fl.StringSliceVar(&a.also, "also", nil, "add faults that a full audit omits by default: "+strings.Join(spec.NamedFaults(), ", "))
	fl.IntVar(&a.depth, "depth", 1, "number of faults in one episode; 2 selects pairs at random, by the seed")
	fl.DurationVar(&a.budget, "budget", 0, "time to spend on pairs of faults with --depth 2 (default 1m)")
}

func (a *auditFlags) overrides(subjects []string) (set []string, err error) {
	set = append(set, "subjects="+yamlList(subjects))
	if len(a.cells) > 0 {
		set = append(set, "phases.0.cells="+yamlList(units.Names(a.cells, strconv.Quote)))
	}
	if len(a.also) > 0 {
		set = append(set, "phases.0.also="+yamlList(a.also))
	}
	switch {
	case len(a.also) > 0 && len(a.cells) > 0:
		return nil, usageError("--also adds faults to a full audit, but --cell selects single cells: remove one of them")
	case a.depth < 1 || a.depth > 2:
		return nil, usageError("--depth %d: must be 1 or 2", a.depth)
	case a.depth == 1 && a.budget != 0:
		return nil, usageError("--budget requires --depth 2: it does not limit single faults, which are always all run")
	case a.depth == 2 && len(a.cells) > 0:
		return nil, usageError("--cell cannot be combined with --depth 2: remove one of them")
	case a.depth == 2:
		set = append(set, "phases.0.depth=2", "phases.0.duration="+cmp.Or(a.budget, time.Minute).String())
	}
	return set, nil
}
