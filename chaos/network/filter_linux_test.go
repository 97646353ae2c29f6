package network

import (
	"math"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/vishvananda/netns"
)

func open(t *testing.T, ns *namespace) *filter {
	t.Helper()
	f, err := openFilter(int(ns.fd))
	must(t, err)
	t.Cleanup(func() { f.close() })
	return f
}

func connects(l net.Listener) bool { return connectsTo(l.Addr().String()) }

func TestFilter_dropsWhatTheRuleSays(t *testing.T) {
	ns := newNamespace(t)
	stranger := netip.MustParseAddr("192.0.2.7")
	strangerV6 := netip.MustParseAddr("2001:db8::7")
	for _, row := range []struct {
		name   string
		rule   Rule
		v4, v6 bool // reachable while cut
	}{
		{"the zero rule drops everything of both families", Rule{}, false, false},
		{"inbound only", Rule{Direction: In}, false, false},
		{"outbound only: the answer never comes back", Rule{Direction: Out}, false, false},
		{"a peer that is us, over IPv4", Rule{Peers: []netip.Addr{ns.here}}, false, true},
		{"a peer that is us, over IPv6", Rule{Peers: []netip.Addr{ns.hereV6}}, true, false},
		{"a peer that is us, written as IPv4 in IPv6", Rule{Peers: []netip.Addr{netip.AddrFrom16(ns.here.As16())}}, false, true},
		{"a stranger and us", Rule{Peers: []netip.Addr{stranger, strangerV6, ns.here}}, false, true},
		{"only strangers: we get through", Rule{Peers: []netip.Addr{stranger, strangerV6}}, true, true},
		{"everyone but us", Rule{Except: []netip.Addr{ns.here, ns.hereV6}}, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, v4, v6 := open(t, ns), ns.listen(t, ns.there), ns.listen(t, ns.v6)
			if !connects(v4) || !connects(v6) {
				t.Fatal("not reachable before the cut")
			}
			id, err := f.cut(row.rule)
			must(t, err)
			if got := connects(v4); got != row.v4 {
				t.Errorf("over IPv4: reachable %v, want %v", got, row.v4)
			}
			if got := connects(v6); got != row.v6 {
				t.Errorf("over IPv6: reachable %v, want %v", got, row.v6)
			}
			ns.inside(t, func() error { // no rule is about loopback
				c, err := net.DialTimeout("tcp", v4.Addr().String(), time.Second)
				if err == nil {
					c.Close()
				}
				return err
			})
			d, err := f.dropped(id)
			must(t, err)
			if cut := !row.v4 || !row.v6; cut != (d > 0) {
				t.Errorf("%d packets were counted", d)
			}
			must(t, f.heal(id))
			must(t, f.heal(id))
			if !connects(v4) || !connects(v6) {
				t.Error("not reachable after the heal")
			}
		})
	}
}

func TestFilter_keepsCutsIndependent(t *testing.T) {
	ns := newNamespace(t)
	f, l := open(t, ns), ns.listen(t, ns.there)
	a, err := f.cut(Rule{Direction: In})
	must(t, err)
	b, err := f.cut(Rule{Peers: []netip.Addr{ns.here}})
	must(t, err)
	must(t, f.heal(a))
	if connects(l) {
		t.Error("healing one cut healed the other")
	}
	must(t, f.heal(b))
	if !connects(l) {
		t.Error("both healed and still cut")
	}
}

// strays is how many packets of the kernel's own may get into the count.
const strays = 10

func TestFilter_dropsTheShareThatIsToBeLost(t *testing.T) {
	ns := newNamespace(t)
	f := open(t, ns)
	echo := ns.echo(t)
	for _, percent := range []float64{5, 50} {
		id, err := f.cut(Rule{Direction: In, Loss: percent})
		must(t, err)
		const sent = 1500
		got := echo(sent)
		d, err := f.dropped(id)
		must(t, err)
		must(t, f.heal(id))
		share := 100 * float64(d) / sent
		t.Logf("asked for %g%%, lost %.2f%%; %d of %d came back", percent, share, got, sent)
		// Four standard deviations of the binomial.
		if slack := 4 * math.Sqrt(percent*(100-percent)/sent); math.Abs(share-percent) > slack {
			t.Errorf("lost %.2f%%, not %g%% ± %.2f", share, percent, slack)
		}
		if stray := got + int(d) - sent; stray < 0 || stray > strays {
			t.Errorf("%d came back and %d were dropped of %d", got, d, sent)
		}
	}
}

// A killed process runs no deferred call, so the kernel must heal for it.
func TestFilter_leavesNothingWhenItsOwnerIsKilled(t *testing.T) {
	ns := newNamespace(t)
	l := ns.listen(t, ns.there)
	kill := startChild(t, "cut", "ZKBENCH_TEST_NETNS=/run/netns/"+ns.name)
	if connects(l) {
		t.Error("the namespace is reachable")
	}
	kill()
	if !connects(l) {
		t.Error("the partition outlived the process that made it")
	}
	tables, err := open(t, ns).conn.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil || len(tables) != 0 {
		t.Errorf("%d tables remain, %v", len(tables), err)
	}
}

func init() {
	children["cut"] = func() error {
		ns, err := os.Open(os.Getenv("ZKBENCH_TEST_NETNS"))
		if err != nil {
			return err
		}
		f, err := openFilter(int(ns.Fd()))
		if err == nil {
			_, err = f.cut(Rule{})
		}
		return err
	}
}

func TestProbe_leavesTheNamespaceThatItMade(t *testing.T) {
	before, err := netns.Get()
	must(t, err)
	defer before.Close()
	a := Probe(t.Context())
	if os.Geteuid() == 0 && (a.Namespaces != nil || a.Filter != nil) {
		t.Errorf("root cannot cut networks here: %+v", a)
	}
	after, err := netns.Get()
	must(t, err)
	defer after.Close()
	if !before.Equal(after) {
		t.Error("the probe left us in its namespace")
	}
}
