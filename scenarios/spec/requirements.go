package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
)

// CheckTimeouts returns an error for a session timeout that members with their tick do not grant: they
// would change it, and all values computed from it would be wrong. tick applies if the scenario does
// not set it; 0 means unknown.
func (s *Scenario) CheckTimeouts(tick time.Duration) error {
	batches, err := s.Batches()
	if err != nil {
		return err
	}
	for _, b := range batches {
		tick := cmp.Or(b.Tick, tick)
		for _, c := range b.Cells {
			t := c.Scenario.SessionTimeout
			if least, most := 2*tick, 20*tick; tick > 0 && (t < least || t > most) {
				return fmt.Errorf("session_timeout %v: members with a tick of %v grant %v to %v (2 to 20 ticks): choose a timeout in this range, or another --tick", t, tick, least, most)
			}
		}
	}
	return nil
}

// CheckExternal returns an error if an external ensemble does not support the scenario: if the scenario
// sets the tick or first_zxid, or has faults of members for which o has no commands.
func (s *Scenario) CheckExternal(o ensembles.Options) error {
	if _, varied := s.Matrix[tickKey]; varied || s.Tick > 0 {
		return fmt.Errorf("%s sets the tick, but an external ensemble has its own tick: remove the field with --set tick=0s", s.Name)
	}
	if s.FirstZxid > 0 {
		return fmt.Errorf("%s sets first_zxid, but it cannot be set for the members of an external ensemble: remove it with --set first_zxid=0", s.Name)
	}
	var errs []error
	for i := range s.Phases {
		p := &s.Phases[i]
		omit := "faults=[]"
		if len(p.Faults) == 0 {
			omit = "rounds=0"
		}
		omit = fmt.Sprintf("omit it with --set phases.%d.%s", i, omit)
		faults := p.MemberFaults()
		if o.External.Commands == nil {
			faults = slices.DeleteFunc(faults, p.CanOmit) // they are omitted when the run begins
			if len(faults) > 0 {
				errs = append(errs, fmt.Errorf("phases.%d (%s): %s would affect a member of an external ensemble; %s, or name commands for it in a file (zkbench help ensembles)",
					i, p.Name, strings.Join(faults, ", "), omit))
			}
			continue
		}
		for _, fault := range faults {
			if why := missingCommands(fault, o); why != "" {
				errs = append(errs, fmt.Errorf("phases.%d (%s): %s %s; %s", i, p.Name, fault, why, omit))
			}
		}
	}
	return errors.Join(errs...)
}

// missingCommands returns why the commands of an external ensemble's members do not suffice for a fault, or "".
func missingCommands(fault string, o ensembles.Options) string {
	kind, err := chaos.KindOf(fault)
	if err != nil {
		return err.Error()
	}
	for i, c := range o.External.Commands {
		words, possible := kind.MissingCommands(c)
		switch {
		case !possible:
			return "cannot be injected by commands"
		case len(words) > 0:
			return fmt.Sprintf("needs %s for every member, but the entry of %s in %s is incomplete", strings.Join(words, " and "), o.Servers[i], o.External.File)
		}
	}
	return ""
}

// otherFiles is the approximate number of files that zkbench, or a member, has open in addition to the
// clients' connections: histories, logs, sessions of the harness, a JVM's jars.
const otherFiles = 400

// CheckFiles returns an error if the largest number of clients needs more open files than most, the limit of
// this process. A member needs at most as many: in the worst case, all clients are connected to it.
func (s *Scenario) CheckFiles(most int) error {
	if len(s.Clients) == 0 {
		return nil
	}
	clients := slices.Max(s.Clients)
	if need := clients + otherFiles; need > most {
		return fmt.Errorf("%d clients need %d open files, but the limit of this process is %d: "+
			"raise its hard limit (ulimit -n %d as root, LimitNOFILE=%d in a systemd unit, or --ulimit nofile=%d for a container), or use fewer clients (--clients)",
			clients, need, most, need, need, need)
	}
	return nil
}

// ErrEpisodes is returned for scenarios that cannot run on agents.
var ErrEpisodes = errors.New("an audit and the zoo inject faults at single steps of local clients, which agents do not support; run without --agents, or run churn")

func (s *Scenario) CheckAgents() error {
	if slices.ContainsFunc(s.Phases, func(p Phase) bool { return p.Kind == EpisodeKind }) {
		return fmt.Errorf("%s: %w", s.Name, ErrEpisodes)
	}
	if s.KnownMembers() != "" {
		return fmt.Errorf("%s: %s changes addresses on this machine, which clients on agents do not use; run without --agents", s.Name, chaos.MemberMove)
	}
	return nil
}
