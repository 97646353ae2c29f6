package chaos

import "strings"

// Abilities says what this process can do to networks of its own making: nil, or why
// not. Members in containers are reached through Docker, which has rights of its own.
type Abilities struct {
	Namespaces error // make a network namespace
	Filter     error // drop packets in it
	Delay      error // delay packets in it
}

// CutsNetworks says whether the kind needs a member's network to be within reach.
func (k Kind) CutsNetworks() bool { return strings.HasPrefix(k.Needs, needsNetwork) }

// Delays says whether the kind needs the kernel's network emulator.
func (k Kind) Delays() bool { return k.Name == linkDelay.Name }
