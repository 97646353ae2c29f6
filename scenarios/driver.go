package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// toDriver returns a compiled-in subject that runs as a driver; its properties are unchanged. Agents
// run it in their own process unless apart is set.
func (r *runner) toDriver(s recipes.Subject, apart bool) (recipes.Subject, error) {
	if apart {
		return r.inSeparateProcess(s)
	}
	s.Start = host.Subject(host.Command{Name: s.Name, Args: []string{site.Agent, s.Name}}).Start
	return s, nil
}

func (r *runner) inSeparateProcess(s recipes.Subject) (recipes.Subject, error) {
	if len(r.Driver) == 0 {
		return s, fmt.Errorf("%s must run in separate processes (apart: true): set Config.Driver to the command that starts them, for example zkbench driver", s.Name)
	}
	args := append(slices.Clone(r.Driver), s.Name)
	if r.Agents != nil {
		args[0] = site.Self
	}
	command := host.Command{Name: s.Name, Args: args}
	s.Start = host.Subject(command).Start
	return s, nil
}

// Commands lists the commands for an external ensemble's members that the run may execute, one line
// each. The target of a fault is chosen during the run, so every member has a line.
func (c Config) Commands() (lines []string) {
	for i := range c.Scenario.Phases {
		p := &c.Scenario.Phases[i]
		faults := p.MemberFaults()
		slices.Sort(faults)
		for _, fault := range slices.Compact(faults) {
			kind, err := chaos.KindOf(fault)
			if err != nil {
				continue // reported by Validate
			}
			lines = append(lines, c.commands(fmt.Sprintf("phase %s, %s", p.Name, fault), kind.CommandNames())...)
		}
	}
	return append(lines, c.commands("after each trial", []string{"log"})...)
}

func (c Config) commands(when string, words []string) (lines []string) {
	for i, member := range c.Ensemble.External.Commands {
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
