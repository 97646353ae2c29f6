package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/ensembles/rootless"
)

type need struct {
	about        string
	members      bool                  // true for members that zkbench runs, and members with commands
	words        []string              // commands that suffice; nil: none
	driver       bool                  // true for clients in other processes
	process      bool                  // true for clients with their own process
	checkMachine func(Abilities) error // returns why a machine does not meet the need; nil: every machine meets it
	// checkEnsemble returns why a running ensemble does not meet the need; nil: every ensemble meets it.
	checkEnsemble func(context.Context, Target) error
}

var (
	needsTap     = need{about: "the client's tap"}
	needsProcess = memberNeed("stop", "start")
	needsKill    = memberNeed("kill", "start")
	needsPause   = memberNeed("pause", "resume")
	needsNetwork = networkNeed("isolate", "heal")
	needsExcept  = networkNeed("isolate", "heal", "{except}")
	needsPeers   = networkNeed("isolate", "heal", "{peers}")
	needsOneWay  = networkNeed("isolate", "heal", "{peers}", "{direction}")
	needsPackets = networkNeed()
	needsNetem   = need{about: "a kernel with netem (CONFIG_NET_SCH_NETEM; modprobe sch_netem)", checkMachine: Abilities.noDelay, checkEnsemble: checkNetem}
)

func memberNeed(words ...string) need {
	return need{about: "members that zkbench runs itself", members: true, words: words, checkMachine: Abilities.noEnsemble, checkEnsemble: checkManaged}
}

func networkNeed(words ...string) need {
	return need{about: "members in containers, or in network namespaces of their own (requires root, or a kernel that lets users create them)", members: true, words: words,
		checkMachine: Abilities.noCuts, checkEnsemble: checkNetwork}
}

// MissingCommands returns which commands a member lacks for the fault: the words that name them in a file, or
// the placeholders missing in isolate. possible is false if no command suffices.
func (k Kind) MissingCommands(c ensembles.Commands) (words []string, possible bool) {
	for _, n := range k.needs {
		if n.members && n.words == nil {
			return nil, false
		}
		for _, word := range n.words {
			there := c.ByWord()[word] != nil || word == "kill" && c.Stop != nil
			if strings.HasPrefix(word, "{") {
				there = strings.Contains(strings.Join(c.Isolate, " "), word)
			}
			if !there {
				words = append(words, word)
			}
		}
	}
	return words, true
}

// CommandNames are the members' commands that the fault may run.
func (k Kind) CommandNames() (words []string) {
	for _, n := range k.needs {
		for _, word := range n.words {
			if !strings.HasPrefix(word, "{") {
				words = append(words, word)
			}
		}
	}
	return words
}

// Needs returns what the fault requires, as text separated by semicolons; "" if it requires nothing.
func (k Kind) Needs() string {
	return strings.Join(texts(k.needs, func(n need) string { return n.about }), "; ")
}

func (k Kind) TouchesMembers() bool {
	return slices.ContainsFunc(k.needs, func(n need) bool { return n.members })
}

// CheckMachine returns why a machine does not support the fault, or nil.
func (k Kind) CheckMachine(a Abilities) error {
	for _, n := range k.needs {
		if n.checkMachine != nil && n.checkMachine(a) != nil {
			return n.checkMachine(a)
		}
	}
	return nil
}

// CheckEnsemble returns why a running ensemble does not support the fault with that name, or nil.
func CheckEnsemble(ctx context.Context, name string, t Target) error {
	k, err := KindOf(name)
	if err != nil {
		return err
	}
	for _, n := range k.needs {
		if n.checkEnsemble == nil {
			continue
		}
		if err := n.checkEnsemble(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func checkManaged(_ context.Context, t Target) error {
	if slices.ContainsFunc(t.Ensemble.Members, func(m *ensembles.Member) bool { return m.Machine == nil }) {
		return ensembles.ErrNotOurs
	}
	return nil
}

func checkNetwork(_ context.Context, t Target) error {
	if t.Network != nil {
		return nil
	}
	if err := rootless.CheckSettings(); err != nil && rootless.Rights() != nil {
		return fmt.Errorf("%w: %w", ErrSkipped, err)
	}
	return errNoNetwork
}

func checkNetem(ctx context.Context, t Target) error {
	if err := checkNetwork(ctx, t); err != nil {
		return err
	}
	return t.Network.CheckDelay(ctx)
}

// Abilities has a field for each need that depends on the machine: nil if the machine meets it, or why not.
type Abilities struct {
	Docker error // members in containers
	Java   error // members as local processes
	Disks  error // slow and failing disks of local processes
	network.Abilities
}

func Probe(ctx context.Context) Abilities {
	a := Abilities{Docker: container.Available(ctx), Java: process.Available(""), Disks: process.CheckDisks(), Abilities: network.Probe(ctx)}
	if a.Rootless && errors.Is(a.Disks, syscall.EPERM) { // zkbench starts itself again with this permission
		a.Disks = nil
	}
	return a
}

func (a Abilities) noEnsemble() error {
	if a.Docker != nil && a.Java != nil {
		return errors.New("zkbench cannot start an ensemble on this machine")
	}
	return nil
}

// noCuts returns an error if members' networks cannot be cut, and nil with Docker, which has
// permissions that this process may lack.
func (a Abilities) noCuts() error {
	if a.Docker == nil {
		return nil
	}
	return cmp.Or(a.noEnsemble(), a.Namespaces, a.Filter)
}

// noDelay returns an error if the kernel, which containers share, cannot delay packets, and nil if
// this process lacks the permissions to test it.
func (a Abilities) noDelay() error {
	if cmp.Or(a.Namespaces, a.Filter) != nil {
		return nil
	}
	return a.Delay
}
