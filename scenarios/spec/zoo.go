package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

// Specimen is a subject, a script, and the guarantees that the subject is known to break in it.
type Specimen struct {
	Subject string `yaml:"subject"` // the subject under test
	// Script is a cell of an audit, such as "next exists #1/reply.drop" or "all/crowd".
	// "every" runs all applicable cells that detect a bug in another specimen, and all scripts that
	// are not limited to one step.
	Script string `yaml:"cell"`
	// Caught are the guarantees that the subject must break. Without any, the subject is correct and
	// must keep all guarantees.
	Caught []string `yaml:"caught,omitempty,flow"`
	Except []string `yaml:"except,omitempty,flow"` // cells that "every" omits
}

// EveryScript, as the value of Specimen.Script, selects all applicable scripts.
const EveryScript = "every"

func (s *Scenario) zoo() ([]Cell, error) {
	var cells []Cell
	for _, x := range s.Specimens {
		if len(s.Subjects) > 0 && !slices.Contains(s.Subjects, x.Subject) {
			continue
		}
		subject, err := s.Find(x.Subject)
		if err != nil {
			return nil, err
		}
		names := []string{x.Script}
		if x.Script == EveryScript {
			names = slices.DeleteFunc(s.everyScript(subject), func(name string) bool {
				own := func(o Specimen) bool { return o.Subject == x.Subject && o.Script == name }
				return slices.Contains(x.Except, name) || slices.ContainsFunc(s.Specimens, own)
			})
		}
		for _, name := range names {
			c, err := s.auditCell(subject, name)
			if err != nil {
				return nil, err
			}
			c.ExpectedViolations, c.Step, c.Fault = x.Caught, "", "" // not a parameter of a matrix
			cells = append(cells, interleave([]Cell{c}, s.Trials)...)
		}
	}
	return cells, nil
}

func (s *Scenario) everyScript(subject recipes.Subject) (names []string) {
	for _, name := range applicableScripts(subject) {
		names = append(names, AllSteps+"/"+name)
	}
	for _, x := range s.Specimens {
		if _, err := s.auditCell(subject, x.Script); err == nil && len(x.Caught) > 0 {
			names = append(names, x.Script)
		}
	}
	return unique(names)
}

func (s *Scenario) validateZoo(bad ProblemFunc) {
	for i, x := range s.Specimens {
		at := bad.below(fmt.Sprintf("specimens.%d", i))
		subject, err := s.Find(x.Subject)
		if err != nil {
			at("subject", "%v%s", err, units.Nearest(x.Subject, SubjectNames()))
			continue
		}
		if x.Script == EveryScript {
			continue
		}
		switch c, err := s.auditCell(subject, x.Script); {
		case err != nil:
			at("cell", "%v; applicable: %q", err, EveryScript)
		case c.AffectsMembers():
			at("cell", "%s affects a member that other trials use at the same time: run it with audit", x.Script)
		}
	}
	for _, name := range s.Subjects {
		if !slices.ContainsFunc(s.Specimens, func(x Specimen) bool { return x.Subject == name }) {
			bad("subjects", "%s is not among the specimens", name)
		}
	}
	for i, p := range s.Phases {
		if p.Kind != EpisodeKind {
			bad(fmt.Sprintf("phases.%d.kind", i), "a zoo has one phase, of kind %s", EpisodeKind)
		}
	}
}

// KnownBugs returns the broken recipes of the built-in zoo, each with its cell and the guarantees it breaks.
func KnownBugs() (out [][2]string) {
	name, text, _ := Source("zoo")
	s, err := Load(name, text)
	if err != nil {
		return nil // not reached: a test loads the zoo
	}
	for _, x := range s.Specimens {
		if len(x.Caught) > 0 {
			out = append(out, [2]string{x.Subject, fmt.Sprintf("%s: %s", x.Script, strings.Join(x.Caught, ", "))})
		}
	}
	return out
}
