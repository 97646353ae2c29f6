package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func auditCmd() *cobra.Command {
	var f runFlags
	var cells, also []string
	cmd := &cobra.Command{
		Use:   "audit SUBJECT ...",
		Short: "Test every protocol step against every applicable fault",
		Long:  page("audit"),
		Example: `  zkbench audit lock/predecessor
  zkbench audit lock/mine --cell 'next exists #1/reply.drop' --seed 7
  zkbench audit lock/mine --also node.delete,parent.delete`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usageError("no subject given; name one, for example: zkbench audit lock/predecessor (zkbench list subjects)")
			case len(also) > 0 && len(cells) > 0:
				return usageError("--also adds faults to a full audit, but --cell selects single cells: remove one of them")
			}
			set := []string{"subjects=" + yamlList(args)}
			if len(cells) > 0 {
				set = append(set, "phases.0.cells="+yamlList(units.Names(cells, strconv.Quote)))
			}
			if len(also) > 0 {
				set = append(set, "phases.0.also="+yamlList(also))
			}
			f.scenario.set = append(set, f.scenario.set...)
			return f.runAll(cmd, []string{"audit"})
		},
	}
	fl := cmd.Flags()
	f.register(fl)
	f.registerSettings(fl)
	fl.StringArrayVar(&cells, "cell", nil, "run only this cell, for example 'next exists #1/reply.drop' (repeatable)")
	fl.StringSliceVar(&also, "also", nil, "add faults that a full audit omits by default: "+strings.Join(spec.NamedFaults(), ", "))
	return cmd
}
