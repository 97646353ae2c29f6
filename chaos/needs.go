package chaos

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/process"
)

// need is one thing that must be there to have a fault.
type need struct {
	about   string
	members bool                  // only members of our own have it
	missing func(Abilities) error // why a machine does not have it; nil: every machine does
}

// What faults need. A fault can add needs of its own.
var (
	needsTap     = need{about: "the client's tap"}
	needsRequest = need{about: "a request that matches"}
	needsProcess = need{about: "members that zkbench runs itself", members: true, missing: Abilities.noEnsemble}
	needsNetwork = need{about: "members in containers, or in network namespaces of their own (root)", members: true, missing: Abilities.noCuts}
	needsNetem   = need{about: "a kernel with netem (modprobe sch_netem)", missing: Abilities.noDelay}
)

// Needs says what must be there to have the fault.
func (k Kind) Needs() string {
	var all []string
	for _, n := range k.needs {
		all = append(all, n.about)
	}
	return strings.Join(all, "; ")
}

// TouchesMembers reports whether the fault does something to members.
func (k Kind) TouchesMembers() bool {
	return slices.ContainsFunc(k.needs, func(n need) bool { return n.members })
}

// Missing returns nil where a machine can have the fault, or else why not.
func (k Kind) Missing(a Abilities) error {
	for _, n := range k.needs {
		if n.missing != nil && n.missing(a) != nil {
			return n.missing(a)
		}
	}
	return nil
}

// Abilities says of each thing that faults need whether a machine has it: nil, or
// why not.
type Abilities struct {
	Docker error // members in containers
	Java   error // members as local processes

	Namespaces error // make a network namespace
	Filter     error // drop packets in it
	Delay      error // delay packets in it
}

// Probe tries what this machine can do.
func Probe(ctx context.Context) Abilities {
	a := probeNetwork()
	a.Docker, a.Java = container.Available(ctx), process.Available("")
	return a
}

func (a Abilities) noEnsemble() error {
	if a.Docker != nil && a.Java != nil {
		return errors.New("no ensemble of our own can be started here")
	}
	return nil
}

// noCuts returns why members' networks cannot be cut. Docker has the rights that
// this process may lack.
func (a Abilities) noCuts() error {
	if a.Docker == nil {
		return nil
	}
	return cmp.Or(a.noEnsemble(), a.Namespaces, a.Filter)
}

// noDelay returns why packets cannot be delayed. The kernel is the same in a
// container, and so is what it lacks; only a process with rights can tell.
func (a Abilities) noDelay() error {
	if cmp.Or(a.Namespaces, a.Filter) != nil {
		return nil
	}
	return a.Delay
}
