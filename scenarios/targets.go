package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
)

// fitsClients checks that the clients whom the fault targets by number exist in the smallest trial.
func (f Fault) fitsClients(bad problemFunc, fewest int) {
	missing := func(field string, n int) {
		if n >= fewest {
			bad(field, "there is no client %d: the last of %d is client %d", n, fewest, fewest-1)
		}
	}
	if n, ok := f.targetClient(); ok {
		missing("target", n)
	}
	if e, err := parseEvent(f.On); err == nil && e.kind == holds {
		missing("on", e.n)
	}
}

func (f Fault) targetClient() (n int, ok bool) {
	who, ofClient := strings.CutPrefix(f.Target, chaos.MemberOf)
	if !ofClient && !f.hitsClients() {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(who, "client "))
	return n, err == nil
}

// hitsClients reports whether the fault's targets are clients.
func (f Fault) hitsClients() bool {
	k, err := chaos.KindOf(f.Fault)
	return err == nil && slices.Contains(k.Targets, chaos.Holder)
}

// targetMember returns the name of the target member, or "".
func (f Fault) targetMember() string {
	k, err := chaos.KindOf(f.Fault)
	word := err != nil || slices.Contains(k.Targets, f.Target) || strings.HasPrefix(f.Target, chaos.MemberOf)
	if word || f.hitsClients() {
		return ""
	}
	return f.Target
}

// checkMembers checks that the members that faults target are in the ensemble.
func (c Config) checkMembers() error {
	all, err := c.Scenario.combinations()
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := c.missingMembers(one.scenario); err != nil {
			return err
		}
	}
	return nil
}

// missingMembers returns an error for targeted members of a scenario without a matrix that are not
// in the ensemble.
func (c Config) missingMembers(s *Scenario) error {
	names := memberNames(c.Ensemble)
	var missing []error
	for i, p := range s.Phases {
		for j, f := range p.Faults {
			if who := f.targetMember(); who != "" && !slices.Contains(names, who) && !c.isAddress(who) {
				missing = append(missing, fmt.Errorf("phases.%d.faults.%d.target: %q is no member; there is %s", i, j, who, strings.Join(names, ", ")))
			}
		}
	}
	return errors.Join(missing...)
}

// isAddress reports whether who may be a member's client address; the addresses of our own members are
// unknown before they start.
func (c Config) isAddress(who string) bool {
	if c.external() {
		return slices.Contains(c.Ensemble.Servers, who)
	}
	return strings.Contains(who, ":")
}

func memberNames(o ensembles.Options) (names []string) {
	n := cmp.Or(o.Members, 3) + o.Observers
	if len(o.Servers) > 0 {
		n = len(o.Servers)
	}
	for i := range n {
		name := fmt.Sprintf("zk%d", i+1)
		if i < len(o.Terms.Commands) {
			name = cmp.Or(o.Terms.Commands[i].Name, name)
		}
		names = append(names, name)
	}
	return names
}
