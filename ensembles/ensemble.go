// Package ensembles describes the ZooKeeper ensembles that zkbench runs against.
//
// An [Ensemble] is plain data: its members, their client addresses, and, for members that zkbench
// starts, the machines that stop, kill, pause and restart them. Sub-packages start ensembles: container
// (Docker), process (local JVMs), external (run by others), and auto, which chooses. Package txnlog
// reads the servers' transaction logs.
//
//	e, err := auto.Start(ctx, ensembles.Options{Members: 3})
//	...
//	defer e.Down(context.WithoutCancel(ctx))
//	leader, err := ensembles.Leader(ctx, e)
//	...
//	err = leader.Machine.Kill(ctx)
package ensembles

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/report/units"
)

// Kind is a kind of ensemble: how its members are run.
type Kind string

// The kinds of ensemble. Auto selects another kind; a running ensemble never has the kind Auto.
const (
	Auto      Kind = "auto"
	Container Kind = "container"
	Process   Kind = "process"
	External  Kind = "external"
)

// Options configure the ensemble to start. The zero value of each field selects its default: Options{}
// is a three-member ensemble.
type Options struct {
	Kind      Kind
	Members   int           // voting; default 3
	Observers int           // non-voting members in addition; default 0
	Tick      time.Duration // ZooKeeper's tickTime; default 2 s. Session timeouts are clamped to [2, 20] ticks
	// FirstZxid is the number of the first transaction of each epoch, minus one. Near 1<<32 the epoch
	// ends soon, as it would after four billion transactions. 0 is ZooKeeper's default.
	FirstZxid uint32
	Image     string
	Home      string // process: a ZooKeeper distribution (default $ZOOKEEPER_HOME, or Debian's jars)
	// Versions are the versions between which an [Upgrader] can upgrade and downgrade members. The first is
	// Image or Home, with which all members start. Nil: no upgrades.
	Versions []Version
	Servers  []string // external: client addresses host:port, one per member
	Chroot   string
	External ExternalConfig // external: the allowed operations
	Secure   []string       // container, process: the members' requirements for clients: "tls", "digest"; default nothing
	Disks    bool           // process: the members' disks can have faults, if the machine allows it
	Keep     bool           // the ensemble outlives this process (zkbench ensemble up)
	// Logf receives one line for each message to the user. May be nil.
	Logf func(format string, args ...any)
}

// Ensemble is a set of members that serve one ZooKeeper tree.
type Ensemble struct {
	ID        string
	Kind      Kind   // never Auto
	About     string // one line for users: image or jars, version
	Version   string // version that the servers report, such as "3.8.0"
	Tick      time.Duration
	FirstZxid uint32
	Chroot    string // "" or the absolute path above all of zkbench's nodes
	Members   []*Member
	// Versions are as in [Options]; nil if members cannot be upgraded.
	Versions []Version
	// Security is the members' requirements for clients; [Ensemble.SetSecurity] sets it.
	Security Security
	// Down stops the members and removes everything that was created for them. It may be called
	// twice. For an external or attached ensemble it only detaches.
	Down func(ctx context.Context) error
}

// Member is a server of an ensemble, with its addresses and the means to control it.
type Member struct {
	Name string // such as "zk1", as in the server list
	ID   int    // myid, from 1
	Addr string // client address host:port; constant over restarts
	IP   string // address for peers and clients

	// Observer members do not vote: they serve clients, and a quorum does not need them.
	Observer bool

	// ContainerID, an ID or a name, is set for members in containers, and NetNS (a path for setns)
	// for processes in their own network namespace. If both are empty, the member's network cannot
	// be cut.
	ContainerID string
	NetNS       string

	External bool
	// Dial connects to the member as required, for example with TLS; nil: without TLS.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Machine controls the server process; nil for external members without commands.
	Machine Machine
	// Cutter cuts the member's network with the commands of [ExternalConfig]; nil without such commands.
	Cutter Cutter
	// Disk makes the disk of the member's transaction log slow, or lets it fail; nil if that is not possible.
	Disk *Disk
}

// ExternalConfig are the allowed operations on an external ensemble. The zero value allows only connections.
type ExternalConfig struct {
	Security Security
	Commands []Commands // by server; nil: only connections
	File     string
}

// Commands are the operations on one external member: programs with their arguments, run without
// a shell. Nil commands are not allowed.
type Commands struct {
	Name    string `yaml:"name"`    // of the member; default zk1, zk2 and so on
	Address string `yaml:"address"` // for its peers; default the host of its client address

	Start   []string `yaml:"start,flow"`
	Stop    []string `yaml:"stop,flow"`
	Kill    []string `yaml:"kill,flow"` // default Stop
	Pause   []string `yaml:"pause,flow"`
	Resume  []string `yaml:"resume,flow"`
	Isolate []string `yaml:"isolate,flow"` // the values of the cut replace {peers}, {except} and {direction}
	Heal    []string `yaml:"heal,flow"`
	Log     []string `yaml:"log,flow"` // writes a tar archive of the transaction logs to stdout
}

// ByWord returns the commands by their keys in YAML, such as "start"; nil for those that are not allowed.
func (c Commands) ByWord() map[string][]string {
	return map[string][]string{
		"start": c.Start, "stop": c.Stop, "kill": c.Kill, "pause": c.Pause, "resume": c.Resume,
		"isolate": c.Isolate, "heal": c.Heal, "log": c.Log,
	}
}

func (c Commands) Any() bool {
	all := slices.Collect(maps.Values(c.ByWord()))
	return slices.ContainsFunc(all, func(args []string) bool { return args != nil })
}

// Cutter cuts a member's network: Isolate drops the packets that the cut selects, until Heal.
type Cutter interface {
	Isolate(ctx context.Context, c Cut) error
	Heal(ctx context.Context) error // after Isolate; may be called twice
}

// Cut selects a member's packets to drop.
type Cut struct {
	Direction string       // "in", "out" or "both"
	Peers     []netip.Addr // only packets to and from these; empty: all
	Except    []netip.Addr // but no packets to and from these
}

// Machine controls one member's server process. Every method returns when the process has ended,
// stopped or started; the other members may not have noticed yet.
type Machine interface {
	Start(ctx context.Context) error  // again, after Stop or Kill, with the same data and address
	Stop(ctx context.Context) error   // SIGTERM, then waits
	Kill(ctx context.Context) error   // SIGKILL, then waits
	Pause(ctx context.Context) error  // the process keeps its sockets and does nothing
	Resume(ctx context.Context) error // after Pause
	Running(ctx context.Context) (bool, error)
	Save(ctx context.Context, dir string) error
	RecentLog(ctx context.Context) ([]byte, error) // the last few thousand lines of the server's log
	// TxnLogs opens the member's transaction logs that can contain entries after a zxid, oldest first. The
	// caller must close them. [Commits] reads them.
	TxnLogs(ctx context.Context, after int64) ([]io.ReadCloser, error)
}

// ErrNotOurs means that an action requires control of a member of an external ensemble.
var ErrNotOurs = errors.New("not allowed on a member of an external ensemble")

// Servers returns the client addresses, host:port, in member order.
func (e *Ensemble) Servers() []string {
	return units.Names(e.Members, func(m *Member) string { return m.Addr })
}

// Voting returns all members but the observers, in member order. A majority of them is a quorum.
func (e *Ensemble) Voting() []*Member {
	return slices.DeleteFunc(slices.Clone(e.Members), func(m *Member) bool { return m.Observer })
}

// Size returns the numbers of members and observers as text, such as "5 members, 2 observers".
func (e *Ensemble) Size() string {
	voting := len(e.Voting())
	text := fmt.Sprintf("%d members", voting)
	if n := len(e.Members) - voting; n > 0 {
		text += ", " + units.Plural(n, "observer")
	}
	return text
}

// Member returns the member with that client address or name.
func (e *Ensemble) Member(nameOrAddr string) (*Member, error) {
	i := slices.IndexFunc(e.Members, func(m *Member) bool { return m.Name == nameOrAddr || m.Addr == nameOrAddr })
	if i >= 0 {
		return e.Members[i], nil
	}
	return nil, fmt.Errorf("no member %q in the ensemble %v", nameOrAddr, e.Servers())
}

// Version is a build of ZooKeeper that members can run.
type Version struct {
	Name string // in results; unique in an ensemble
	From string
}

// Upgrader is a [Machine] that can restart its member with another version and the same data and address.
type Upgrader interface {
	// Upgrade sets the version of the member's next start. The member must not run.
	Upgrade(ctx context.Context, v Version) error
	// CurrentVersion returns the name of the version of the member's last start, from its process or container.
	CurrentVersion(ctx context.Context) (string, error)
}

// VersionNamed returns the version with that name among e.Versions; otherwise the error lists their names.
func (e *Ensemble) VersionNamed(name string) (Version, error) {
	if i := slices.IndexFunc(e.Versions, func(v Version) bool { return v.Name == name }); i >= 0 {
		return e.Versions[i], nil
	}
	names := units.Names(e.Versions, func(v Version) string { return v.Name })
	return Version{}, fmt.Errorf("no version %q of ZooKeeper in the ensemble; its versions are %q", name, names)
}

// Security is the members' requirements for connections. The zero value requires nothing.
type Security struct {
	TLS *tls.Config
	// Digest is user:password of ZooKeeper's scheme digest, with which every connection
	// authenticates; "" for none.
	Digest string
	// CreatorOnly restricts access to zkbench's nodes to clients that authenticate as zkbench does, by Digest
	// or by the certificate in TLS. If it is false, all clients have access.
	CreatorOnly bool
}

// SecurityModes are the values of Options.Secure.
var SecurityModes = []string{"tls", "digest"}

// Dial connects to a server as its members require. The context also bounds the TLS handshake.
func (s Security) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if s.TLS == nil {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	return (&tls.Dialer{Config: s.TLS}).DialContext(ctx, network, addr)
}

// SetSecurity sets the ensemble's requirements for clients, and how its members are dialled.
func (e *Ensemble) SetSecurity(s Security) {
	e.Security = s
	if s.TLS == nil {
		return
	}
	for _, m := range e.Members {
		m.Dial = s.Dial
	}
}

// Connect opens a connection to the member's client address with m.Dial, or without TLS if Dial is nil.
func (m *Member) Connect(ctx context.Context) (net.Conn, error) {
	if m.Dial != nil {
		return m.Dial(ctx, "tcp", m.Addr)
	}
	return Security{}.Dial(ctx, "tcp", m.Addr)
}

// Commits calls each, in order, for every transaction that the ensemble has committed after a zxid until
// now. It reads the leader's log, and the logs of the other voting members for transactions that the
// leader received as a snapshot. A majority of the voting members has logged every commit, so the logs
// of observers add nothing. The summary lists the missing parts.
//
// The error wraps [ErrNotOurs] if the ensemble is not [CanReadLogs]. Commits stops at an error of each.
func Commits(ctx context.Context, e *Ensemble, after int64, each func(txnlog.Entry) error) (txnlog.Summary, error) {
	if !CanReadLogs(e) {
		return txnlog.Summary{}, fmt.Errorf("reading the transaction logs: %w", ErrNotOurs)
	}
	status := Status(ctx, e)
	leader, err := singleLeader(status)
	if err != nil {
		return txnlog.Summary{}, fmt.Errorf("reading the transaction logs: %w", err)
	}
	others := slices.DeleteFunc(e.Voting(), func(m *Member) bool { return m == leader })
	var logs [][]io.Reader
	for _, m := range append([]*Member{leader}, others...) {
		files, err := m.Machine.TxnLogs(ctx, after)
		if err != nil {
			return txnlog.Summary{}, fmt.Errorf("reading the transaction logs: %w", err)
		}
		var log []io.Reader
		for _, f := range files {
			defer f.Close()
			log = append(log, f)
		}
		logs = append(logs, log)
	}
	return txnlog.Merge(e.FirstZxid, after, highestZxid(status), each, logs...)
}

// highestZxid returns the highest zxid that any member has applied: a majority has logged it, but perhaps
// not every member. The leader announces a commit before it applies it, so a client of another
// member can receive its reply before the leader reports the zxid.
func highestZxid(all []MemberStatus) (zxid int64) {
	for _, s := range all {
		if s.Err == nil {
			zxid = max(zxid, s.Server.Zxid)
		}
	}
	return zxid
}

// CanReadLogs reports whether the logs of all voting members can be read: zkbench runs them or has a command.
func CanReadLogs(e *Ensemble) bool {
	return !slices.ContainsFunc(e.Voting(), func(m *Member) bool {
		commanded, ok := m.Machine.(interface{ Logged() bool })
		return m.Machine == nil || ok && !commanded.Logged()
	})
}
