package chaos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Kind is one kind of fault in the catalogue.
type Kind struct {
	Name   string
	About  string   // what it does, in one line
	Needs  string   // what must be there to have it
	Proof  string   // what proves that it took effect
	Target string   // what it is aimed at unless told otherwise
	Aims   []string // what it can be aimed at, besides a member's name or a client's number; nil: nothing
	Params []Param  // what can be set
	// Members says that it touches members, and not just clients' connections.
	Members bool
	// Absent says why nobody can have it; empty for every other kind.
	Absent string

	build func(target string, s settings) Fault
}

// Param is something that can be set on a kind of fault.
type Param struct {
	Name, Default, About string
}

// What faults can be aimed at.
var (
	memberAims = []string{Leader, Follower, Any}
	clientAims = []string{Holder, Waiter, Random}
)

// catalogue is every kind of fault, in the order in which people read it. Each is
// declared beside the fault itself.
var catalogue = []Kind{
	sessionClose, sessionExpire, sessionFreeze, sessionFlap, sessionStorm,
	memberKill, memberStop, memberPause, memberRestart, memberRolling,
	partitionIsolate, partitionLeader, partitionSplit, partitionRing,
	partitionOneway, partitionClients, partitionPeers,
	linkLoss, linkRate, linkDelay,
	diskFull, diskSlow,
	replyDrop, requestDrop, requestHold, wireDelay,
}

// Catalogue returns all kinds of fault.
func Catalogue() []Kind { return slices.Clone(catalogue) }

// TouchesMembers says whether the fault with that name does something to members,
// so that an ensemble of somebody else's cannot have it.
func TouchesMembers(name string) bool {
	k, err := find(name)
	return err == nil && k.Members
}

func find(name string) (Kind, error) {
	i := slices.IndexFunc(catalogue, func(k Kind) bool { return k.Name == name })
	if i >= 0 {
		return catalogue[i], nil
	}
	all := make([]string, len(catalogue))
	for i, k := range catalogue {
		all[i] = k.Name
	}
	return Kind{}, fmt.Errorf("%q is no fault%s", name, nearest(name, all))
}

// Parse makes the fault with that name in the catalogue, aimed at target, with its
// parameters. An empty target and a parameter that is not given mean the kind's
// defaults. Members' names and clients' numbers are checked when it is injected.
func Parse(name, target string, params map[string]string) (Fault, error) {
	k, err := find(name)
	if err != nil {
		return nil, err
	}
	if target == "" {
		target = k.Target
	}
	if err := k.checkTarget(target); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s, err := k.settings(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := k.build(target, s)
	if err := s.err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func (k Kind) checkTarget(target string) error {
	switch {
	case target == "" || slices.Contains(k.Aims, target):
		return nil
	case k.Aims == nil:
		return fmt.Errorf("it has no target; %q cannot be aimed at", target)
	case slices.Equal(k.Aims, clientAims):
		if _, err := clientNumber(target); err == nil {
			return nil
		}
		return fmt.Errorf("target %q: it hits a client: %s, or its number%s", target, strings.Join(k.Aims, ", "), guess(target, k.Aims))
	case slices.Contains(clientAims, target):
		return fmt.Errorf("target %q is a client, and it hits a member: %s, or its name", target, strings.Join(k.Aims, ", "))
	}
	return nil // a member's name, known when the ensemble is
}

// guess suggests a name that is very near to what was written, and stays silent otherwise.
func guess(name string, names []string) string {
	best, distance := "", 3
	for _, n := range names {
		if d := levenshtein.Distance(name, n, nil); d < distance {
			best, distance = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// nearest suggests the name that is nearest to what was written, or lists them all.
func nearest(name string, names []string) string {
	best, distance := "", 1+len(name)/2
	for _, n := range names {
		if d := levenshtein.Distance(name, n, nil); d < distance {
			best, distance = n, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if len(names) == 0 {
		return "; there is none"
	}
	return "; there is " + strings.Join(names, ", ")
}
