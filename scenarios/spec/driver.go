package spec

import (
	"cmp"
	"fmt"
	"iter"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report/units"
	"go.yaml.in/yaml/v4"
)

// Driver is a program that runs a recipe which is not compiled in (zkbench help drivers).
type Driver struct {
	Name      string            `yaml:"name"`                // the subject's name, which begins with its recipe, such as lock/... or queue/...
	Exec      string            `yaml:"exec"`                // the program and its arguments, split into words as by a shell; no shell is run
	Env       map[string]string `yaml:"env,omitempty"`       // environment variables, added to those of zkbench
	Cwd       string            `yaml:"cwd,omitempty"`       // the working directory; the current one if omitted
	Processes int               `yaml:"processes,omitempty"` // minimum number of processes; the clients are distributed over them
}

// AllSubjects returns the names of the specimens' subjects, the scenario's subjects, and their successors.
func (s *Scenario) AllSubjects() []string {
	return slices.Concat(units.Names(s.Specimens, func(x Specimen) string { return x.Subject }), s.Subjects, s.Successors())
}

func (s *Scenario) DriverCommands() (commands []host.Command) {
	all := s.AllSubjects()
	for _, d := range s.Drivers {
		if slices.Contains(all, d.Name) {
			commands = append(commands, d.command())
		}
	}
	return commands
}

func (d Driver) command() host.Command {
	args, _ := host.Split(d.Exec)
	c := host.Command{Name: d.Name, Args: args, Dir: d.Cwd, Processes: d.Processes}
	for key, value := range d.Env {
		c.Env = append(c.Env, key+"="+value)
	}
	return c
}

// Find returns a subject by its name: a driver of the scenario, or a compiled-in subject.
func (s *Scenario) Find(name string) (recipes.Subject, error) {
	for _, d := range s.Drivers {
		if d.Name == name {
			return host.Subject(d.command()), nil
		}
	}
	subject, err := recipes.Find(name)
	return s.withFormulas(subject), err
}

var (
	recipeKinds = units.Names(recipes.Recipes, func(r recipes.Recipe) string { return string(r) })
	// DriverName matches the names of drivers, which begin with a kind of recipe.
	DriverName = regexp.MustCompile(`^(` + strings.Join(recipeKinds, "|") + `)(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)
)

func (d Driver) validate(bad ProblemFunc) {
	if !DriverName.MatchString(d.Name) {
		bad("name", "%q is not of the form KIND/NAME with one of the kinds %s", d.Name, units.List(recipeKinds))
	} else if _, err := recipes.Find(d.Name); err == nil {
		bad("name", "%s is compiled in; give the driver another name", d.Name)
	}
	if args, err := host.Split(d.Exec); err != nil {
		bad("exec", "%q: %v; want a program and its arguments, like python3 driver.py", d.Exec, err)
	} else if err := checkExecutable(args[0], d.Cwd); err != nil {
		bad("exec", "%v", err)
	}
	Between(bad, "processes", d.Processes, 0, MaxClients)
}

func checkExecutable(program, dir string) error {
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
		if !strings.Contains(program, "/") {
			program = "./" + program
		}
	}
	_, err := exec.LookPath(program)
	return err
}

// liftDrivers moves drivers that are defined as entries of subjects to the field drivers, and leaves
// their names in subjects. It keeps their positions in the text.
func liftDrivers(root *yaml.Node) {
	subjects := resolve(child(root, "subjects"))
	if subjects == nil || subjects.Kind != yaml.SequenceNode {
		return
	}
	for i, entry := range subjects.Content {
		if entry = resolve(entry); entry.Kind != yaml.MappingNode {
			continue
		}
		name := &yaml.Node{Kind: yaml.ScalarNode, Line: entry.Line, Column: entry.Column}
		if n := resolve(child(entry, "name")); n != nil {
			name.Value = n.Value
		}
		subjects.Content[i] = name
		addDriver(root, entry)
	}
}

func addDriver(root, entry *yaml.Node) {
	root = resolve(root)
	list := resolve(child(root, "drivers"))
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode}
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "drivers"}, list)
	}
	list.Content = append(list.Content, entry)
}

// execKey is the key of an override that sets a driver's program: exec=NAME=PROGRAM ARGS.
const execKey = "exec"

func overrideExec(root *yaml.Node, value string) error {
	name, line, ok := strings.Cut(value, "=")
	if !ok || line == "" || !DriverName.MatchString(name) {
		return fmt.Errorf("--exec %q: want NAME=PROGRAM ARGS, for example 'lock/mine=python3 driver.py'; NAME is KIND/NAME, with one of the kinds %s", value, units.List(recipeKinds))
	}
	var entry yaml.Node
	if err := entry.Dump(Driver{Name: name, Exec: line}); err != nil {
		return err
	}
	clearPositions(&entry)
	if list := resolve(child(resolve(root), "drivers")); list != nil {
		list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool {
			old := resolve(child(n, "name"))
			return old != nil && old.Value == name
		})
	}
	addDriver(root, &entry)
	return nil
}

// unusedDrivers returns a problem for each --exec program that would not be tested: its subject does not run.
func (s *Scenario) unusedDrivers(overrides []string) (ps Problems) {
	for _, o := range overrides {
		value, ok := strings.CutPrefix(o, execKey+"=")
		name, _, _ := strings.Cut(value, "=")
		if ok && DriverName.MatchString(name) && len(s.Subjects)+len(s.Specimens) > 0 && !slices.Contains(s.AllSubjects(), name) {
			ps = append(ps, &problem{Text: fmt.Sprintf("--exec %s: %s is not among the subjects to run; add --subject %s", value, name, name)})
		}
	}
	return ps
}

func (s *Scenario) unknownSubject(name string) string {
	text := fmt.Sprintf("unknown subject %q", name)
	known := append(units.Names(s.Drivers, func(d Driver) string { return d.Name }), SubjectNames()...)
	var ends []string // a subject's name without its recipe matches several recipes
	for _, k := range known {
		if strings.HasSuffix(k, "/"+name) && name != "" {
			ends = append(ends, k)
		}
	}
	switch best := units.Closest(name, known); {
	case len(ends) > 0:
		return text + "; did you mean " + strings.Join(ends, " or ") + "?"
	case best != "":
		text += fmt.Sprintf("; did you mean %q?", best)
	}
	if _, notRecipe := host.RecipeOf(name); notRecipe == nil {
		text += fmt.Sprintf("; to test a program of your own, add --exec '%s=PROGRAM ARGS'", name)
	}
	return text + " (zkbench list subjects)"
}

// SeparateProcess returns a function that reports whether a client of a driver needs a process of its own.
func (c Cell) SeparateProcess() func(client int) bool {
	if names := c.Scenario.faultsThat(chaos.TouchesProcesses); len(names) > 0 {
		return func(int) bool { return true }
	}
	return func(n int) bool {
		return slices.ContainsFunc(c.Injections, func(a Injection) bool { return a.Fault.process && a.Step.Client() == n })
	}
}

func (s *Scenario) faultsThat(is func(name string) bool) (names []string) {
	for _, p := range s.Phases {
		names = append(names, slices.DeleteFunc(p.FaultNames(), func(name string) bool { return !is(name) })...)
	}
	return names
}

func (s *Scenario) Faults() iter.Seq2[string, Fault] {
	return func(yield func(path string, f Fault) bool) {
		for i, p := range s.Phases {
			for j, f := range p.Faults {
				if !yield(fmt.Sprintf("phases.%d.faults.%d", i, j), f) {
					return
				}
			}
		}
	}
}

// KnownMembers returns what clients know of members that move, by the parameter [chaos.Known]; "" if no member moves.
func (s *Scenario) KnownMembers() (known string) {
	for _, f := range s.Faults() {
		if f.Fault == chaos.MemberMove {
			known = cmp.Or(f.Params[chaos.Known], chaos.KnownByName)
		}
	}
	return known
}

// Successors returns the subjects that clients run after a client.restart fault with [chaos.RestartAs].
func (s *Scenario) Successors() (names []string) {
	for _, f := range s.Faults() {
		if as := f.Params[chaos.RestartAs]; as != "" {
			names = append(names, as)
		}
	}
	return unique(names)
}

// validateSuccessors reports subjects with which the scenario's subjects cannot be replaced.
func (s *Scenario) validateSuccessors(bad ProblemFunc) {
	for at, f := range s.Faults() {
		as := f.Params[chaos.RestartAs]
		if as == "" {
			continue
		}
		at += ".params." + chaos.RestartAs
		next, err := s.Find(as)
		if err != nil {
			bad(at, "%s", s.unknownSubject(as))
			continue
		}
		for _, name := range s.Subjects {
			switch old, err := s.Find(name); {
			case err != nil:
			case next.Recipe != old.Recipe:
				bad(at, "%s cannot replace %s: the first is a %s, the second a %s", as, name, next.Recipe, old.Recipe)
			case next.Start == nil && !s.Apart:
				bad(at, "%s runs inside zkbench and has no process that could replace a process of %s: name a driver", as, name)
			}
		}
	}
}

// validateProcesses reports subjects that have no process, if faults need one, and moves of members that contradict
// each other.
func (s *Scenario) validateProcesses(bad ProblemFunc) {
	for at, f := range s.Faults() {
		if known := cmp.Or(f.Params[chaos.Known], chaos.KnownByName); f.Fault == chaos.MemberMove && known != s.KnownMembers() {
			bad(at+".params."+chaos.Known, "%s differs from %s in a later fault: all %s of a scenario must agree", known, s.KnownMembers(), chaos.MemberMove)
		}
	}
	faults := s.faultsThat(chaos.NeedsDriver)
	if len(faults) == 0 || s.Apart {
		return
	}
	for i, name := range s.Subjects {
		if subject, err := s.Find(name); err == nil && subject.Start == nil {
			bad(fmt.Sprintf("subjects.%d", i), "%s: %s", faults[0], noProcessReason(name))
		}
	}
}

func noProcessReason(subject string) string {
	return fmt.Sprintf("needs clients in other processes, but %s runs inside zkbench; run it in processes of its own: --set apart=true", subject)
}
