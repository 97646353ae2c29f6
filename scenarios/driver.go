package scenarios

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report/units"
)

// Driver is a program that runs a recipe which is not compiled in (zkbench help drivers).
type Driver struct {
	Name      string            `yaml:"name"`                // of the subject, with its recipe: lock/..., election/... or queue/...
	Exec      string            `yaml:"exec"`                // the program and its arguments, split into words as by a shell; no shell is run
	Env       map[string]string `yaml:"env,omitempty"`       // added to the environment
	Cwd       string            `yaml:"cwd,omitempty"`       // the working directory; the current one if omitted
	Processes int               `yaml:"processes,omitempty"` // the minimum number of processes over which the clients are spread
}

func (d Driver) subject() recipes.Subject { return host.Subject(d.command()) }

// DriverCommands returns the commands of the drivers in the scenario.
func (s *Scenario) DriverCommands() (commands []host.Command) {
	for _, d := range s.Drivers {
		if slices.Contains(s.Subjects, d.Name) || slices.ContainsFunc(s.Specimens, func(x Specimen) bool { return x.Subject == d.Name }) {
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

func (s *Scenario) find(name string) (recipes.Subject, error) {
	for _, d := range s.Drivers {
		if d.Name == name {
			return d.subject(), nil
		}
	}
	return recipes.Find(name)
}

// known returns the names of all available subjects.
func (s *Scenario) known() []string {
	return append(namesOf(s.Drivers, func(d Driver) string { return d.Name }), subjectNames()...)
}

var driverName = regexp.MustCompile(`^(lock|election|queue)(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)

func (s *Scenario) validateDrivers(bad problemFunc) {
	for i, d := range s.Drivers {
		d.validate(bad.in(fmt.Sprintf("drivers.%d", i)))
		if slices.ContainsFunc(s.Drivers[:i], func(o Driver) bool { return o.Name == d.Name }) {
			bad(fmt.Sprintf("drivers.%d.name", i), "%s is the name of another driver already", d.Name)
		}
	}
}

func (d Driver) validate(bad problemFunc) {
	if !driverName.MatchString(d.Name) {
		bad("name", "%q has no kind; name it lock/NAME, election/NAME or queue/NAME", d.Name)
	} else if _, err := recipes.Find(d.Name); err == nil {
		bad("name", "%s is compiled in; give the driver another name", d.Name)
	}
	if args, err := host.Split(d.Exec); err != nil {
		bad("exec", "%q: %v; want a program and its arguments, like python3 driver.py", d.Exec, err)
	} else if err := findable(args[0], d.Cwd); err != nil {
		bad("exec", "%v", err)
	}
	between(bad, "processes", d.Processes, 0, maxClients)
}

// findable returns why a program cannot be started in a folder, or nil.
func findable(program, dir string) error {
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
		if !strings.Contains(program, "/") {
			program = "./" + program
		}
	}
	_, err := exec.LookPath(program)
	return err
}

// liftDrivers moves the drivers among the entries of subjects to the field drivers and leaves their
// names. Their positions in the text are kept.
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

// addDriver adds a driver to the field drivers, in place of one with the same name.
func addDriver(root, entry *yaml.Node) {
	root = resolve(root)
	list := resolve(child(root, "drivers"))
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode}
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "drivers"}, list)
	}
	list.Content = append(list.Content, entry)
}

// execKey is the key of an override that names a program: exec=NAME=PROGRAM ARGS.
const execKey = "exec"

// overrideExec sets the program of the driver named by a flag.
func overrideExec(root *yaml.Node, value string) error {
	name, line, ok := strings.Cut(value, "=")
	if !ok || line == "" || !driverName.MatchString(name) {
		return fmt.Errorf("--exec %q: want NAME=PROGRAM ARGS, for example 'lock/mine=python3 driver.py'; NAME begins with lock/, election/ or queue/", value)
	}
	var entry yaml.Node
	if err := entry.Dump(Driver{Name: name, Exec: line}); err != nil {
		return err
	}
	displace(&entry)
	if list := resolve(child(resolve(root), "drivers")); list != nil {
		list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool {
			old := resolve(child(n, "name"))
			return old != nil && old.Value == name
		})
	}
	addDriver(root, &entry)
	return nil
}

// unplayed returns a problem for each program that a flag gives to a subject which the scenario
// does not run: it would not be tested.
func (s *Scenario) unplayed(overrides []string) (ps problems) {
	for _, o := range overrides {
		value, ok := strings.CutPrefix(o, execKey+"=")
		name, _, _ := strings.Cut(value, "=")
		specimen := slices.ContainsFunc(s.Specimens, func(x Specimen) bool { return x.Subject == name })
		if ok && driverName.MatchString(name) && len(s.Subjects)+len(s.Specimens) > 0 && !slices.Contains(s.Subjects, name) && !specimen {
			ps = append(ps, &problem{Text: fmt.Sprintf("--exec %s: %s is not among the subjects to run; add --subject %s", value, name, name)})
		}
	}
	return ps
}

func (s *Scenario) unknownSubject(name string) string {
	text := fmt.Sprintf("unknown subject %q", name)
	var ends []string // a subject's name without its recipe matches several recipes
	for _, known := range s.known() {
		if strings.HasSuffix(known, "/"+name) && name != "" {
			ends = append(ends, known)
		}
	}
	switch best := units.Closest(name, s.known()); {
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
