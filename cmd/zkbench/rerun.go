package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func rerunCmd() *cobra.Command {
	var f runFlags
	var failed bool
	cmd := &cobra.Command{
		Use:   "rerun DIR",
		Short: "Re-run a recorded run, or only its failed parts",
		Long:  page("rerun"),
		Example: `  zkbench rerun zkbench-out/ci
  zkbench rerun zkbench-out/ci --failed --ensemble process
  zkbench rerun zkbench-out/ci --out zkbench-out/ci-again`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.untrusted = true
			return f.rerun(cmd, args[0], failed)
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&failed, "failed", false, "run only the failed trials, or the failed cells of an audit")
	return cmd
}

func (f *runFlags) rerun(cmd *cobra.Command, dir string, failed bool) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return usageError("%s is not a folder: unpack it, and rerun the run folder that it contains", dir)
	}
	if f.out != "" && same(f.out, dir) {
		return usageError("--out %s is the run to repeat; choose another folder", f.out)
	}
	recorded, err := report.ReadResult(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return usage(err)
	}
	old, err := redraw(cmd, dir)
	if errors.Is(err, report.ErrDamaged) {
		fmt.Fprintf(cmd.ErrOrStderr(), "the recorded run was not rendered again: %v\n", err)
		var c report.Conclusion
		c, err = report.Judge(dir)
		old, err = c.Result, runError(err)
	}
	if err != nil {
		return err
	}
	if before, now := recorded.Outcome(), old.Outcome(); recorded.Schema != "" && before != now {
		fmt.Fprintf(cmd.ErrOrStderr(), "the verdict of this version of zkbench is %s; the recorded verdict is %s\n", now, before)
	}
	selected := old.Trials
	if failed {
		selected = failures(old)
		if len(selected) == 0 && old.Outcome() == report.Unknown {
			selected = failures(recorded) // if the history is damaged, use the recorded result
		}
		if len(selected) == 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "nothing failed; nothing to run")
			return verdictError(old.Outcome())
		}
	}
	scenario := filepath.Join(dir, report.ScenarioFile)
	if _, err := os.Stat(scenario); errors.Is(err, os.ErrNotExist) {
		return usageError("%s does not exist, so the trials cannot be repeated: restore it, or run the scenario anew with zkbench run %s", scenario, old.Run.Scenario)
	}
	f.copyEnsembleOptions(old.Run.Ensemble)
	f.seed = old.Run.Seed
	if failed {
		f.selectTrials(old, selected)
	}
	if f.out == "" {
		if f.out, err = newFolder(old.Run.Scenario + "-rerun"); err != nil {
			return usage(err)
		}
	}
	ran := f.runAll(cmd, []string{scenario})
	if info, err := os.Stat(f.out); err == nil && info.IsDir() {
		_ = os.Remove(f.out) // empty if nothing was run
	}
	if now, err := report.ReadResult(f.out); err == nil {
		printOutcomes(cmd.ErrOrStderr(), selected, now.Trials)
	}
	return ran
}

// failures returns the trials to repeat: the failed trials and, if a failed trial is compared with a
// base, all trials of both subjects.
func failures(r report.Result) []report.Trial {
	failed := slices.DeleteFunc(slices.Clone(r.Trials), func(t report.Trial) bool { return t.Outcome() != report.Fail })
	return slices.DeleteFunc(slices.Clone(r.Trials), func(t report.Trial) bool {
		return !slices.ContainsFunc(failed, func(b report.Trial) bool {
			compared := b.Base != "" && b.EqualExceptSubject(t.Cell) && (t.Subject == b.Subject || t.Subject == b.Base)
			return b.Name == t.Name || compared
		})
	})
}

func (f *runFlags) selectTrials(old report.Result, trials []report.Trial) {
	audited := slices.ContainsFunc(old.Trials, func(t report.Trial) bool { return t.Step != "" })
	var names, cells, subjects []string
	for _, t := range trials {
		name := t.Name
		if audited && t.Repetition > 0 { // calm episodes, which have a number only if they were not named
			name = strings.TrimSuffix(name, "-"+strconv.Itoa(t.Repetition))
		}
		names, cells, subjects = append(names, name), append(cells, strconv.Quote(t.Script)), append(subjects, t.Subject)
	}
	f.scenario.set = append(f.scenario.set, "only="+yamlSet(names))
	if audited {
		f.scenario.set = append(f.scenario.set, "subjects="+yamlSet(subjects), "phases.0.cells="+yamlSet(cells))
	}
}

func yamlSet(words []string) string {
	slices.Sort(words)
	return yamlList(slices.Compact(words))
}

func printOutcomes(w io.Writer, old, now []report.Trial) {
	differing := 0
	for _, t := range old {
		i := slices.IndexFunc(now, func(n report.Trial) bool {
			return n.Name == t.Name || n.Step != "" && n.Subject == t.Subject && n.Script == t.Script
		})
		if i < 0 {
			continue
		}
		if was, is := t.Outcome(), now[i].Outcome(); was != is || was == report.Fail {
			fmt.Fprintf(w, "%s: %s then, %s now\n", t.Name, was, is)
			differing++
		}
	}
	if differing == 0 {
		fmt.Fprintln(w, "rerun: every repeated trial has the same result as before, and none failed")
	}
}

// copyEnsembleOptions sets the options to an ensemble like e, except options that flags set.
func (f *runFlags) copyEnsembleOptions(e report.Ensemble) {
	given := func(flag string) bool { return f.scenario.flags.Changed(flag) }
	if !given("members") && e.Members > 0 {
		f.ensemble.Members = e.Members
	}
	if !given("observers") && e.Kind != string(ensembles.External) {
		f.ensemble.Observers = len(e.Observers)
	}
	if !given("tick") && e.Tick > 0 {
		f.ensemble.Tick = e.Tick
	}
	if !given("ensemble") && !given("servers") && e.Kind != "" && e.Kind != "external" {
		f.kind = e.Kind
	}
}

func same(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// programs returns a line for each program that the scenario starts and that --exec does not name: the
// command, additions to the environment, and the working directory.
func (f *runFlags) programs(s *spec.Scenario) (lines []string) {
	for _, d := range s.Drivers {
		if slices.ContainsFunc(f.scenario.exec, func(e string) bool { return strings.HasPrefix(e, d.Name+"=") }) {
			continue
		}
		line := fmt.Sprintf("%s: exec %s", d.Name, d.Exec)
		for _, key := range slices.Sorted(maps.Keys(d.Env)) {
			line += fmt.Sprintf(", env %s=%s", key, d.Env[key])
		}
		if d.Cwd != "" {
			line += ", cwd " + d.Cwd
		}
		lines = append(lines, line)
	}
	return lines
}

// checkPrograms rejects a scenario that starts programs and may come from another user: from a packed
// run, or a file of another user. With --allow-exec it logs the programs instead.
func (f *runFlags) checkPrograms(s *spec.Scenario, file string, logf func(format string, args ...any)) error {
	lines := f.programs(s)
	if len(lines) == 0 || !f.untrusted && ownFile(file) {
		return nil
	}
	if f.allowExec {
		for _, line := range lines {
			logf("executes %s", line)
		}
		return nil
	}
	return usageError("%s names programs to execute: review them, then allow them with --allow-exec:\n  %s", file, strings.Join(lines, "\n  "))
}
