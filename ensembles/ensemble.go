// Package ensembles describes the ZooKeeper ensembles that zkbench runs against.
//
// An [Ensemble] is plain data: its members, their client addresses, and for
// members that are ours the power to stop, kill, pause and restart them. The
// sub-packages start ensembles: container (through Docker), process (local JVMs),
// external (somebody else's), and auto, which picks the best that this machine
// can run. Package txnlog reads what the servers wrote down.
//
//	e, err := auto.Start(ctx, ensembles.Options{Members: 3})
//	if err != nil {
//		return err
//	}
//	defer e.Down(context.WithoutCancel(ctx))
//	leader, err := ensembles.Leader(ctx, e)
//	if err != nil {
//		return err
//	}
//	err = leader.Machine.Kill(ctx)
package ensembles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Kind names where an ensemble runs.
type Kind string

// The kinds of ensemble. Auto asks for the best; no running ensemble is of that kind.
const (
	Auto      Kind = "auto"
	Container Kind = "container"
	Process   Kind = "process"
	External  Kind = "external"
)

// Options say what ensemble to start. The zero value of each field means its
// default, so that Options{} is a three-member ensemble of the best kind.
type Options struct {
	Kind      Kind          // default Auto
	Members   int           // that vote; default 3
	Observers int           // members beside them that do not; default 0
	Tick      time.Duration // ZooKeeper's tickTime; default 2 s. Session timeouts are clamped to [2, 20] ticks
	Image     string        // container: image reference; default "zookeeper:3.9", else the locally built one
	Home      string        // process: a ZooKeeper distribution (default $ZOOKEEPER_HOME, else Debian's jars)
	// Versions are those that members can be upgraded to and back, by an [Upgrader]. The
	// first is Image or Home, which all members start from. Nil: nobody upgrades them.
	Versions []Version
	Servers  []string // external: client addresses host:port, one a member
	Chroot   string   // external: our part of the tree; default "/zkbench"
	Terms    Terms    // external: on what terms it may be used
	Secure   []string // container, process: what the members ask of clients: "tls", "digest"; default nothing
	Keep     bool     // the ensemble outlives this process (zkbench ensemble up)
	// Logf receives one line for each thing that the user wants to know (which kind,
	// why, what fell back). Nil is silent.
	Logf func(format string, args ...any)
}

// Ensemble is a set of members that serve one ZooKeeper tree.
type Ensemble struct {
	ID      string // unique on this machine; labels containers, namespaces and folders
	Kind    Kind   // never Auto
	About   string // one line for people: image or jars, version
	Version string // ZooKeeper's version as the servers report it, "3.8.0"
	Tick    time.Duration
	Chroot  string // "" or an absolute path under which all our znodes live
	Members []*Member
	Watches bool // external: the members may be asked for all watches (wchp)
	// Versions are those that members can be upgraded to and back; the first is the one that
	// they started from. Nil where nobody can.
	Versions []Version
	// Security is what the members ask of clients; [Ensemble.Secure] sets it.
	Security Security
	// Down stops the members and removes everything that was made for them. It
	// is safe to call twice. For an external or attached ensemble it only detaches.
	Down func(ctx context.Context) error
}

// Member is one server of an ensemble.
type Member struct {
	Name string // "zk1", as in the server list
	ID   int    // myid, 1 based
	Addr string // client address host:port; the same over restarts
	IP   string // the address on which peers and clients reach it

	// Observer says that it has no vote: it serves clients, and no quorum needs it.
	Observer bool

	// ContainerID, an id or a name, is set for members in containers, NetNS (a path that setns
	// accepts) for processes in a network namespace of their own. With neither,
	// nobody can cut this member's network.
	ContainerID string
	NetNS       string

	// Theirs says that somebody else runs the member.
	Theirs bool
	// Dial connects to the member as it asks for it, with TLS perhaps; nil: plainly.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Machine is the power over the server process; nil for external members, unless
	// their owner lends us commands.
	Machine Machine
	// Cutter cuts the member's network by its owner's commands; nil where we do it
	// ourselves, or nobody can.
	Cutter Cutter
}

// Terms are on what somebody else's ensemble may be used. By the zero value we may only talk
// to its members, plainly.
type Terms struct {
	Security Security
	Commands []Commands // by server; nil: we may only talk to the members
	Watches  bool       // they may be asked for all watches (wchp), which costs members with many
	File     string     // that says so; "" without one
}

// Commands are what we may do to one member of somebody else's ensemble: programs with
// their arguments, run without a shell. Nil is what we may not do.
type Commands struct {
	Name    string `yaml:"name"`    // the member's; "" is zk1, zk2 and so on
	Address string `yaml:"address"` // by which its peers know it; "" is the host of its client address

	Start   []string `yaml:"start,flow"`
	Stop    []string `yaml:"stop,flow"`
	Kill    []string `yaml:"kill,flow"` // default Stop
	Pause   []string `yaml:"pause,flow"`
	Resume  []string `yaml:"resume,flow"`
	Isolate []string `yaml:"isolate,flow"` // {peers}, {except} and {direction} in it stand for what is cut
	Heal    []string `yaml:"heal,flow"`
	Log     []string `yaml:"log,flow"` // writes a tar archive of the transaction logs to stdout
}

// ByWord returns the commands by the words that name them in a file.
func (c Commands) ByWord() map[string][]string {
	return map[string][]string{
		"start": c.Start, "stop": c.Stop, "kill": c.Kill, "pause": c.Pause, "resume": c.Resume,
		"isolate": c.Isolate, "heal": c.Heal, "log": c.Log,
	}
}

// Any reports whether there is a command at all.
func (c Commands) Any() bool {
	for _, args := range c.ByWord() {
		if args != nil {
			return true
		}
	}
	return false
}

// Cutter is power over one member's network.
type Cutter interface {
	Isolate(ctx context.Context, c Cut) error
	Heal(ctx context.Context) error // after Isolate; safe to call twice
}

// Cut says which of a member's packets are to be dropped.
type Cut struct {
	Direction string       // "in", "out" or "both"
	Peers     []netip.Addr // only those to and from these; empty: everybody
	Except    []netip.Addr // but never those to and from these
}

// Machine is power over one member's server process. Every method returns when
// the act is done (the process is gone, frozen, running), not when the ensemble
// has noticed.
type Machine interface {
	Start(ctx context.Context) error  // again, after Stop or Kill, with the same data and address
	Stop(ctx context.Context) error   // SIGTERM, then waits
	Kill(ctx context.Context) error   // SIGKILL, then waits
	Pause(ctx context.Context) error  // the process keeps its sockets and does nothing
	Resume(ctx context.Context) error // after Pause
	Running(ctx context.Context) (bool, error)
	// Save copies the member's zoo.cfg and log to dir as NAME.cfg and NAME.log.
	Save(ctx context.Context, dir string) error
	// TxnLogs opens the member's transaction logs, oldest first, without those that
	// end before the zxid after. The caller closes them. [Commits] reads them.
	TxnLogs(ctx context.Context, after int64) ([]io.ReadCloser, error)
}

// ErrNotOurs is returned when something is asked of a member that we do not run.
var ErrNotOurs = errors.New("the member is not ours to touch (external ensemble)")

// Servers returns the client addresses of all members, in member order.
func (e *Ensemble) Servers() []string {
	out := make([]string, len(e.Members))
	for i, m := range e.Members {
		out[i] = m.Addr
	}
	return out
}

// Voting returns the members of which a majority is a quorum, in member order: all but the
// observers.
func (e *Ensemble) Voting() []*Member {
	return slices.DeleteFunc(slices.Clone(e.Members), func(m *Member) bool { return m.Observer })
}

// Size says how many members there are, by their role: "5 members, 2 observers".
func (e *Ensemble) Size() string {
	voting := len(e.Voting())
	switch n := len(e.Members) - voting; n {
	case 0:
		return fmt.Sprintf("%d members", voting)
	case 1:
		return fmt.Sprintf("%d members, 1 observer", voting)
	default:
		return fmt.Sprintf("%d members, %d observers", voting, n)
	}
}

// Member returns the member with that client address or name.
func (e *Ensemble) Member(nameOrAddr string) (*Member, error) {
	for _, m := range e.Members {
		if m.Name == nameOrAddr || m.Addr == nameOrAddr {
			return m, nil
		}
	}
	return nil, fmt.Errorf("no member %q in the ensemble %v", nameOrAddr, e.Servers())
}
