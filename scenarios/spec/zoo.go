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
	// Provocation is a cell of an audit, such as "next exists #1/reply.drop" or "all/crowd".
	// "every" runs all applicable cells that detect a bug in another specimen, and all scripts that
	// are not limited to one step.
	Provocation string `yaml:"provocation"`
	// Caught are the guarantees that the subject must break. Without any, the subject is correct and
	// must keep all guarantees.
	Caught []string `yaml:"caught,omitempty,flow"`
	Except []string `yaml:"except,omitempty,flow"` // cells that "every" omits
}

// EveryProvocation as Specimen.Provocation selects all applicable scripts.
const EveryProvocation = "every"

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
		names := []string{x.Provocation}
		if x.Provocation == EveryProvocation {
			names = slices.DeleteFunc(s.everyProvocation(subject), func(name string) bool {
				return slices.Contains(x.Except, name) || hasSpecimen(s.Specimens, x.Subject, name)
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

// hasSpecimen reports whether one of the specimens has the subject and the provocation.
func hasSpecimen(all []Specimen, subject, provocation string) bool {
	return slices.ContainsFunc(all, func(x Specimen) bool {
		return x.Subject == subject && x.Provocation == provocation
	})
}

func (s *Scenario) everyProvocation(subject recipes.Subject) (names []string) {
	for _, name := range applicableScripts(subject) {
		names = append(names, AllSteps+"/"+name)
	}
	for _, x := range s.Specimens {
		if _, err := s.auditCell(subject, x.Provocation); err == nil && len(x.Caught) > 0 {
			names = append(names, x.Provocation)
		}
	}
	return unique(names)
}

func (s *Scenario) validateZoo(bad ProblemFunc) {
	if len(s.Clients) > 0 {
		bad("clients", "each provocation has a fixed number of clients: remove the field clients")
	}
	for i, x := range s.Specimens {
		at := bad.in(fmt.Sprintf("specimens.%d", i))
		s.validateSpecimen(x, at)
		if hasSpecimen(s.Specimens[:i], x.Subject, x.Provocation) {
			at("provocation", "%s occurs twice with %s: list them once, with all guarantees that detect the bug", x.Subject, x.Provocation)
		}
	}
	for _, name := range s.Subjects {
		if !slices.ContainsFunc(s.Specimens, func(x Specimen) bool { return x.Subject == name }) {
			bad("subjects", "%s is not among the specimens", name)
		}
	}
	for i, p := range s.Phases {
		at := fmt.Sprintf("phases.%d", i)
		if p.Kind != EpisodeKind {
			bad(at+".kind", "a zoo has one phase, of kind %s", EpisodeKind)
		}
		if len(p.Cells) > 0 || len(p.Also) > 0 || p.Depth > 0 {
			bad(at, "a zoo runs only its specimens: remove cells, also, depth and duration")
		}
	}
}

func (s *Scenario) validateSpecimen(x Specimen, bad ProblemFunc) {
	subject, err := s.Find(x.Subject)
	if err != nil {
		bad("subject", "%v%s", err, units.Nearest(x.Subject, SubjectNames()))
		return
	}
	if x.Provocation != EveryProvocation {
		if len(x.Except) > 0 {
			bad("except", "requires provocation: %s", EveryProvocation)
		}
		c, err := s.auditCell(subject, x.Provocation)
		switch {
		case err != nil:
			bad("provocation", "%v; applicable: %q", err, EveryProvocation)
		case c.AffectsMembers():
			bad("provocation", "%s affects a member that other trials use at the same time: run it with audit", x.Provocation)
		}
		return
	}
	all := s.everyProvocation(subject)
	for _, name := range x.Except {
		if !slices.Contains(all, name) {
			bad("except", "%q is not an episode script that could be omitted%s", name, units.Nearest(name, all))
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
			out = append(out, [2]string{x.Subject, fmt.Sprintf("%s: %s", x.Provocation, strings.Join(x.Caught, ", "))})
		}
	}
	return out
}
