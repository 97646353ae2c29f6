package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles/external"
)

// Commands returns the commands of an external ensemble's members that the run may execute, one
// line each. The target of a fault is chosen during the run, so every member has a line.
func (c Config) Commands() (lines []string) {
	for i := range c.Scenario.Phases {
		p := &c.Scenario.Phases[i]
		faults := p.memberFaults()
		slices.Sort(faults)
		for _, fault := range slices.Compact(faults) {
			kind, err := chaos.KindOf(fault)
			if err != nil {
				continue // reported by Validate
			}
			lines = append(lines, c.commands(fmt.Sprintf("phase %s, %s", p.Name, fault), kind.Words())...)
		}
	}
	return append(lines, c.commands("after each trial", []string{"log"})...)
}

// commands returns those commands for all members that the words name.
func (c Config) commands(when string, words []string) (lines []string) {
	for i, member := range c.Ensemble.Terms.Commands {
		for _, word := range words {
			args := member.ByWord()[word]
			if args == nil && word == "kill" {
				args = member.Stop
			}
			if args != nil {
				lines = append(lines, fmt.Sprintf("%s: %s %s: %s", when, cmp.Or(member.Name, fmt.Sprintf("zk%d", i+1)), word, external.Line(args)))
			}
		}
	}
	return lines
}
