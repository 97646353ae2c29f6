package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/report/units"
)

// Errors about arguments and flags.

func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasSubCommands():
		return unknownCommand(cmd, args[0])
	}
	return usageError("%s takes no arguments: leave %s out", cmd.CommandPath(), args[0])
}

func unknownCommand(cmd *cobra.Command, name string) error {
	return usageError("%s: unknown command %q%s", cmd.CommandPath(), name, units.Nearest(name, verbs(cmd)))
}

func verbs(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Runnable() {
			names = append(names, c.Name())
		}
	}
	return names
}

// refuseUnknown makes cobra's own commands reject unknown names, which they ignore.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error { return unknownTopic(root, args) }
		case "completion":
			cmd.Args, cmd.RunE = noArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// unknownTopic returns an error for args that are no command and no help topic.
func unknownTopic(root *cobra.Command, args []string) error {
	at := root
	for _, name := range args {
		all := at.Commands()
		i := slices.IndexFunc(all, func(c *cobra.Command) bool { return c.Name() == name })
		if i < 0 {
			return usageError("%s: no help on %q%s", at.CommandPath(), name, units.Nearest(name, helpNames(at)))
		}
		at = all[i]
	}
	return nil
}

func helpNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

func flagError(cmd *cobra.Command, err error) error {
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		if best := units.Closest("--"+name, flagNames(cmd)); best != "" {
			return usageError("%s: unknown flag --%s; did you mean %s?", cmd.CommandPath(), name, best)
		}
		return usageError("%s: unknown flag --%s (%s --help lists the flags)", cmd.CommandPath(), name, cmd.CommandPath())
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		return usageError("--%s wants a value", missing.GetFlag().Name)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return invalidValue(invalid.GetFlag(), invalid.GetValue(), err)
	}
	return usage(err)
}

// invalidValue returns the error for a flag's value, with the accepted values.
func invalidValue(f *pflag.Flag, value string, err error) error {
	kind := f.Value.Type()
	if _, number := strconv.ParseFloat(value, 64); number == nil && kind == "duration" {
		return usageError("--%s: %s has no unit; is it %sms or %ss?", f.Name, value, value, value)
	}
	want := map[string]string{
		"bool": "true or false", "duration": "a number and a unit, like 20ms or 5s", "int": "a whole number",
		"intSlice": "whole numbers, like 10,50", "uint64": "a whole number, 0 or more",
	}[kind]
	if want == "" {
		return usage(err)
	}
	return usageError("--%s %s: want %s", f.Name, value, want)
}
