package spec

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/safefile"
	"github.com/zkbench/zkbench/report/units"
	"go.yaml.in/yaml/v4"
)

//go:embed builtin/*.yaml incidents/*.yaml
var builtin embed.FS

// Builtin returns the names of the built-in scenarios, in alphabetical order.
func Builtin() []string { return embedded("builtin/", "") }

// Incidents returns the names of all incidents for [Source], in alphabetical order.
func Incidents() []string { return embedded(incidentDir, IncidentPrefix) }

func embedded(dir, prefix string) []string {
	files, _ := fs.Glob(builtin, dir+"*.yaml")
	return units.Names(files, func(f string) string {
		return prefix + strings.TrimSuffix(path.Base(f), ".yaml")
	})
}

// Source returns the text of a built-in scenario, an incident or a file, and its name for error messages.
func Source(nameOrFile string) (name string, text []byte, err error) {
	file := "builtin/" + nameOrFile
	if what, ok := strings.CutPrefix(nameOrFile, IncidentPrefix); ok {
		file = incidentDir + what
	}
	if text, err := builtin.ReadFile(file + ".yaml"); err == nil {
		return nameOrFile, text, nil
	}
	if !strings.HasSuffix(nameOrFile, ".yaml") && !strings.HasSuffix(nameOrFile, ".yml") {
		return "", nil, unknownScenario(nameOrFile)
	}
	text, err = safefile.Read(nameOrFile, safefile.Config)
	return nameOrFile, text, err
}

func unknownScenario(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: to repeat a run, use zkbench rerun %s", name, name)
	} else if err == nil {
		return fmt.Errorf("%s: the name of a scenario file must end in .yaml", name)
	}
	if best := units.Closest(name, append(Builtin(), Incidents()...)); best != "" {
		return fmt.Errorf("unknown scenario %q; did you mean %q?", name, best)
	}
	return fmt.Errorf("unknown scenario %q (see zkbench list scenarios and zkbench list incidents; the name of your own scenario file must end in .yaml)", name)
}

// Load reads a scenario, applies overrides in order, and validates the result. An override is
// PATH=VALUE, such as "phases.0.rounds=1" or "params.promise=9s"; "hold=5ms" and "duration=8s" apply
// to all phases. name is used in error messages. The error, of type [Problems], lists all problems,
// one line each, with their positions in the text.
func Load(name string, text []byte, overrides ...string) (*Scenario, error) {
	var root yaml.Node
	err := yaml.Load(text, &root)
	empty := err != nil && strings.Contains(err.Error(), "no documents in stream")
	if err != nil && !empty {
		return nil, notYAML(text, err).inFile(name)
	}
	if empty || resolve(&root) == nil {
		return nil, Problems{{File: name, Text: "is empty; to print an example, run zkbench list scenarios herd"}}
	}
	liftDrivers(&root)
	var ps Problems
	declared := paramNames(&root)
	forAll := map[string]string{}
	for _, o := range overrides {
		if err := override(&root, o, forAll); err != nil {
			ps = append(ps, &problem{Text: err.Error()})
		}
	}
	s, found := decode(&root)
	if own, err := builtin.ReadFile("builtin/" + name + ".yaml"); err == nil && bytes.Equal(own, text) {
		s.markBuiltin(overrides)
	}
	ps = append(ps, s.unusedDrivers(overrides)...)
	ps = append(ps, s.unknownParams(declared, overrides)...)
	if err := s.setAll(forAll); err != nil {
		ps = append(ps, &problem{Text: err.Error()})
	}
	found = append(found, s.problems().notCausedBy(found)...)
	found.locate(&root)
	slices.SortStableFunc(found, func(a, b *problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if ps = append(ps, found.inFile(name)...); len(ps) > 0 {
		return nil, ps
	}
	return s, nil
}

func decode(root *yaml.Node) (*Scenario, Problems) {
	var s Scenario
	var d decoder
	d.decode(root, reflect.ValueOf(&s).Elem(), "")
	return &s, d.problems
}

// notYAML returns the library's errors with their positions, and names a tab or an unexpected character.
func notYAML(text []byte, err error) Problems {
	all := &yaml.LoadErrors{}
	if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		all.Errors = []*yaml.LoadError{one}
	} else if !errors.As(err, &all) {
		return Problems{{Text: err.Error()}}
	}
	lines := strings.Split(string(text), "\n")
	var ps Problems
	for _, e := range all.Errors {
		p := &problem{Line: e.Mark.Line, Column: e.Mark.Column, Text: e.Message}
		if p.Line >= 1 && p.Line <= len(lines) {
			line := lines[p.Line-1]
			next := strings.TrimSpace(line[min(max(p.Column-1, 0), len(line)):])
			switch {
			case strings.HasPrefix(strings.TrimLeft(line, " "), "\t"):
				p.Text = "YAML does not allow tabs for indentation: use spaces"
			case strings.Contains(e.Message, "did not find expected") && next != "":
				p.Text = fmt.Sprintf("unexpected %q", next[:1])
			}
		}
		ps = append(ps, p)
	}
	return ps
}

func (s *Scenario) Dump() ([]byte, error) { return yaml.Dump(s) }

func SubjectNames() []string {
	return units.Names(recipes.Subjects(), func(s recipes.Subject) string { return s.Name })
}
