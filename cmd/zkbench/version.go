package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of zkbench and of what it is built from",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, v := range versions() {
				fmt.Fprintf(cmd.OutOrStdout(), "%-10s %s\n", v[0], v[1])
			}
			return nil
		},
	}
}

// versions returns names and versions of what decides a measurement on our side.
func versions() [][2]string {
	out := [][2]string{{"zkbench", "unknown"}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	out[0][1] = info.Main.Version
	out = append(out, [2]string{"go", info.GoVersion})
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			out[0][1] = s.Value
		}
	}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/go-zookeeper/zk" {
			out = append(out, [2]string{"client", dep.Path + " " + dep.Version})
		}
	}
	return out
}

func noArgs(cmd *cobra.Command, args []string) error { return usage(cobra.NoArgs(cmd, args)) }

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
