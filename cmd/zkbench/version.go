package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

func versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of zkbench, its dependencies, and the file formats that it reads",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return errors.New("this program was built without build facts: build it with go build in module mode")
			}
			for _, fact := range buildFacts(info) {
				fmt.Fprintf(cmd.OutOrStdout(), "%-10s %s\n", fact[0], fact[1])
			}
			return nil
		},
	}
}

// buildFacts returns names and values of the build.
func buildFacts(info *debug.BuildInfo) [][2]string {
	revision := "unknown: built without version control information (build in a clone with -buildvcs)"
	if r := setting(info, "vcs.revision"); r != "" {
		revision = r + " of " + setting(info, "vcs.time")
		if setting(info, "vcs.modified") == "true" {
			revision += ", and changes that were not committed"
		}
	}
	target := setting(info, "GOOS") + "/" + setting(info, "GOARCH")
	return [][2]string{
		{"zkbench", info.Main.Version},
		{"revision", revision},
		{"go", info.GoVersion + " for " + target + ", CGO_ENABLED=" + setting(info, "CGO_ENABLED")},
		{"client", clientVersion(info)},
		{"formats", report.Schema + ", " + history.Schema},
	}
}

// versions returns names and versions of the parts of the harness that affect measurements.
func versions() [][2]string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return [][2]string{{"zkbench", "unknown"}}
	}
	return [][2]string{
		{"zkbench", cmp.Or(setting(info, "vcs.revision"), info.Main.Version)},
		{"go", info.GoVersion},
		{"client", clientVersion(info)},
	}
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func clientVersion(info *debug.BuildInfo) string {
	for _, dep := range info.Deps {
		if dep.Path == "github.com/go-zookeeper/zk" {
			return dep.Path + " " + dep.Version
		}
	}
	return "unknown"
}
