package spec

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// PathCount returns the number of paths among which the clients of a trial are divided.
func (s *Scenario) PathCount() int { return max(s.Paths, 1) }

func (s *Scenario) validatePaths(bad ProblemFunc) {
	Between(bad, "paths", s.Paths, 0, history.MaxPaths)
	if s.Paths <= 1 {
		return
	}
	tooFew := func(n int, who string) { // a client without a competitor never contends
		if n > 0 && n < 2*s.Paths {
			bad("paths", "%d paths need at least %d %s, 2 on each, but there are %d: set paths to at most %d, or %s to at least %d",
				s.Paths, 2*s.Paths, who, n, max(n/2, 1), who, 2*s.Paths)
		}
	}
	for _, n := range s.Clients {
		tooFew(n, "clients")
	}
	for i, p := range s.Phases {
		if k := KindNamed(p.Kind); k != nil && !k.Paths {
			bad(fmt.Sprintf("phases.%d.kind", i), "phases of kind %s have one contested node: set paths to 1, or use phases of kind %s",
				p.Kind, strings.Join(kindNamesWhere(func(k *Kind) bool { return k.Paths }), " or "))
		}
		tooFew(p.Contenders, "contenders")
		tooFew(p.Producers, "producers")
	}
	for i, name := range s.Subjects {
		if subject, err := s.Find(name); err == nil && subject.Recipe == recipes.RecipeBarrier {
			bad(fmt.Sprintf("subjects.%d", i), "%s is a barrier, which all clients pass together: set paths to 1", name)
		}
	}
}
