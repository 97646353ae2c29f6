package spec

import "github.com/zkbench/zkbench/recipes"

// Provocation is a script that is run on a subject in one cell of an audit.
type Provocation struct {
	Name       string
	about      string // one line; includes the reason why the script is not limited to one step
	clients    int
	Fits       func(recipes.Subject) bool
	Injections []Injection // of an episode: the faults and their steps
}

// provocations are the scripts that are not limited to one step.
var provocations = []Provocation{
	{Name: "crowd", clients: 8, Fits: isGrantable,
		about: "eight clients contend for at least 40 grants; finds bugs that occur by chance or with many clients"},
	{Name: "wrapped-numbers", clients: 6, Fits: isGrantable,
		about: "six clients contend, with sequence numbers as after an overflow of the parent's counter; not limited to one step"},
	{Name: "newcomers", clients: 8, Fits: forNewcomers,
		about: "seven clients join behind a holder and give up; repeated eight times, because servers list new nodes in random order"},
	{Name: "line", clients: 10, Fits: forFormula,
		about: "a line of ten clients drains once; the cost of a hand-off is counted as the line grows"},
	{Name: "backlog", clients: 2, Fits: forQueues,
		about: "five items are queued before any consumer takes one; in an episode, each item is taken as soon as it is put"},
}

func forQueues(s recipes.Subject) bool { return s.Recipe == recipes.RecipeQueue }

func isGrantable(s recipes.Subject) bool { return !forQueues(s) } // and for elections

func forNewcomers(s recipes.Subject) bool {
	return isGrantable(s) && !s.NoCancel && s.Recipe != recipes.RecipeBarrier
}

func forFormula(s recipes.Subject) bool {
	return isGrantable(s) && (s.Formulas.Drain != nil || s.Variant != "")
}

func applicableScripts(s recipes.Subject) (names []string) {
	for _, p := range provocations {
		if p.Fits(s) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Scripts returns the name and the description of every script that is not limited to one step.
func Scripts() (out [][2]string) {
	for _, p := range provocations {
		out = append(out, [2]string{p.Name, p.about})
	}
	return out
}
