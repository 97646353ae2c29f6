package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/zkbench/zkbench/report/units"
)

func manCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the man pages of all verbs and help topics into a folder",
		Example: `  zkbench man man && man man/man1/zkbench-run.1
  zkbench man ~/.local/share/man && man zkbench-audit`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("%s wants one folder, not %s", cmd.CommandPath(), units.Plural(len(args), "argument"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return usage(writeMan(cmd.Root(), args[0])) },
	}
}

// writeMan writes a page a verb into dir/man1, and a page a help topic into dir/man7.
func writeMan(root *cobra.Command, dir string) error {
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true
	for _, section := range []string{"1", "7"} {
		if err := os.MkdirAll(filepath.Join(dir, "man"+section), 0o755); err != nil {
			return err
		}
	}
	return writeManOf(root, dir)
}

func writeManOf(cmd *cobra.Command, dir string) error {
	section := "1"
	if cmd.IsAdditionalHelpTopicCommand() {
		section = "7"
	}
	cmd.Long, cmd.Example = verbatim(cmd.Long), verbatim(cmd.Example)
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + "." + section
	f, err := os.Create(filepath.Join(dir, "man"+section, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: section, Manual: "zkbench", Source: "zkbench", Date: builtAt()}, f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeManOf(c, dir); err != nil {
			return err
		}
	}
	return f.Close()
}

// verbatim keeps the lines of a help text as they are: to the man pages it is Markdown.
func verbatim(text string) string {
	if text == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// builtAt is the time of the commit that the program was built from, so that the same
// program writes the same pages; nil, which is now, where that is not known.
func builtAt() *time.Time {
	if info, ok := debug.ReadBuildInfo(); ok {
		if at, err := time.Parse(time.RFC3339, setting(info, "vcs.time")); err == nil {
			return &at
		}
	}
	return nil
}
