package agents

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
)

// testNetwork is machines for tests, reached over ssh: each has its own network, name, processes,
// /tmp, /run and home, and shares the rest with this machine. They are connected by a bridge:
//
//	here: zkhID ─── uplink ─ bridge ─ h1 ─── eth0, sshd
//	                                └ h2 ─── eth0, sshd
//
// The bridge has its own network namespace, since this machine's firewall may drop forwarded
// packets. Only the link on this machine has a name outside of the namespaces, and everything ends
// with the test's process.
type testNetwork struct {
	Here  netip.Addr // our address there
	Hosts []*testHost
	SSH   string // command line of ssh that reaches the hosts by name
	dir   string
}

// Names known to ssh that cannot be used.
const (
	hostNobody   = "nobody"   // its address does not exist
	hostRefuses  = "refuses"  // its port is closed
	hostStranger = "stranger" // does not know our key
	hostUnknown  = "unknown"  // its own key is unknown
)

// newNetwork creates hosts with these names, and removes them after the test.
func newNetwork(t testing.TB, names ...string) *testNetwork {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making hosts of their own network namespaces needs root")
	}
	sshd := need(t, "sshd", "/usr/sbin/sshd", "/usr/local/sbin/sshd")
	need(t, "ssh")
	need(t, "ssh-keygen")
	n := &testNetwork{dir: t.TempDir()}
	n.key(t, "id")
	b := newBridge(t)
	n.Here = b.nth(1)
	for i, name := range names {
		n.Hosts = append(n.Hosts, n.start(t, sshd, b, name, b.nth(i+2)))
	}
	n.configure(t)
	for _, h := range n.Hosts {
		h.await(t)
	}
	return n
}

func (n *testNetwork) Host(name string) *testHost {
	for _, h := range n.Hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// need finds a program, also in folders that only root's PATH has.
func need(t testing.TB, name string, places ...string) string {
	t.Helper()
	for _, place := range append(places, name) {
		if path, err := exec.LookPath(place); err == nil {
			return path
		}
	}
	t.Fatalf("%s is missing: .ci/setup test installs it", name)
	return ""
}

// key creates a pair of keys, name and name.pub.
func (n *testNetwork) key(t testing.TB, name string) (public string) {
	t.Helper()
	file := n.file(name)
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	text, err := os.ReadFile(file + ".pub")
	must(t, err)
	return strings.TrimSpace(string(text))
}

func (n *testNetwork) file(name string) string { return filepath.Join(n.dir, name) }

// configure writes ssh's configuration: the hosts and their keys. Other hosts are unknown.
func (n *testNetwork) configure(t testing.TB) {
	t.Helper()
	var config, known strings.Builder
	for _, h := range n.Hosts {
		fmt.Fprintf(&config, "Host %s\n  HostName %s\n", h.Name, h.Address)
		fmt.Fprintf(&known, "%s %s\n", h.Address, h.key)
	}
	first, last := n.Hosts[0].Address, n.Hosts[len(n.Hosts)-1].Address
	n.key(t, "other")
	fmt.Fprintf(&config, "Host %s\n  HostName %s\n", hostNobody, last.Next())
	fmt.Fprintf(&config, "Host %s\n  HostName %s\n  Port 1\n", hostRefuses, first)
	fmt.Fprintf(&config, "Host %s\n  HostName %s\n  IdentityFile %s\n", hostStranger, first, n.file("other"))
	fmt.Fprintf(&config, "Host %s\n  HostName %s\n  HostKeyAlias nowhere\n", hostUnknown, first)
	fmt.Fprintf(&config, "Host * !%s\n  IdentityFile %s\n", hostStranger, n.file("id")) // ssh tries all keys that it is given
	fmt.Fprintf(&config, "Host *\n  User root\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n"+
		"  GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n  BatchMode yes\n", n.file("known"))
	must(t, os.WriteFile(n.file("config"), []byte(config.String()), 0o600))
	must(t, os.WriteFile(n.file("known"), []byte(known.String()), 0o600))
	n.SSH = shellquote.Join("ssh", "-F", n.file("config"))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
