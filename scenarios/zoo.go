package scenarios

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

// Specimen is a subject, what is done to it, and which guarantees it is known to
// break then.
type Specimen struct {
	Subject     string `yaml:"subject"`     // what is provoked
	Provocation string `yaml:"provocation"` // "every": all that go with its kind, except those that stand beside the subject elsewhere
	// Caught are the guarantees that must be seen broken. Without any the subject is
	// sound, and must pass them all.
	Caught []string `yaml:"caught,omitempty,flow"`
	Except []string `yaml:"except,omitempty,flow"` // every: but not these
}

// every stands for all provocations.
const every = "every"

// zoo returns the cells of a zoo, those of Subjects only where some are named.
func (s *Scenario) zoo() ([]cell, error) {
	var cells []cell
	for _, x := range s.Specimens {
		if len(s.Subjects) > 0 && !slices.Contains(s.Subjects, x.Subject) {
			continue
		}
		subject, err := recipes.Find(x.Subject)
		if err != nil {
			return nil, err
		}
		for _, p := range s.provocationsOf(x) {
			cells = append(cells, cell{Subject: subject, Clients: p.clients, Provocation: p.name, Caught: x.Caught, Scenario: s})
		}
	}
	return cells, nil
}

func (s *Scenario) provocationsOf(x Specimen) []provocation {
	if x.Provocation != every {
		p, _ := findProvocation(x.Provocation)
		return []provocation{p}
	}
	subject, _ := recipes.Find(x.Subject) // zoo has found it before
	queue := subject.Recipe == recipes.RecipeQueue
	var out []provocation
	for _, p := range provocations {
		named := slices.ContainsFunc(s.Specimens, func(y Specimen) bool { return y.Subject == x.Subject && y.Provocation == p.name })
		if p.queue == queue && !named && !slices.Contains(x.Except, p.name) {
			out = append(out, p)
		}
	}
	return out
}

func (s *Scenario) validateZoo(bad problemFunc) {
	if len(s.Clients) > 0 {
		bad("clients", "a provocation knows how many clients it takes; leave clients out of a zoo")
	}
	for i, x := range s.Specimens {
		at := fmt.Sprintf("specimens.%d", i)
		if _, err := recipes.Find(x.Subject); err != nil {
			bad(at+".subject", "%v%s", err, units.Nearest(x.Subject, subjectNames()))
		}
		if _, ok := findProvocation(x.Provocation); !ok && x.Provocation != every {
			bad(at+".provocation", "%q is no provocation%s", x.Provocation, units.Nearest(x.Provocation, provocationNames()))
		}
		for _, name := range x.Except {
			if _, ok := findProvocation(name); !ok || x.Provocation != every {
				bad(at+".except", "%q is no provocation that could be left out%s", name, units.Nearest(name, provocationNames()))
			}
		}
	}
	for _, name := range s.Subjects {
		if !slices.ContainsFunc(s.Specimens, func(x Specimen) bool { return x.Subject == name }) {
			bad("subjects", "%s is not among the specimens", name)
		}
	}
}

// provocationNames returns the names of all provocations.
func provocationNames() []string {
	return namesOf(provocations, func(p provocation) string { return p.name })
}

func findProvocation(name string) (provocation, bool) {
	i := slices.IndexFunc(provocations, func(p provocation) bool { return p.name == name })
	if i < 0 {
		return provocation{}, false
	}
	return provocations[i], true
}
