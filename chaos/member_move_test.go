package chaos

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
)

// addressed gives the members addresses for clients, and returns the first address of each, as a client has it.
func addressed(t *testing.T, target *Target, hosts string) (first []string) {
	t.Helper()
	tap := wire.New(clock())
	t.Cleanup(tap.Close)
	a, err := tap.NewAddresses(target.Ensemble.Servers(), hosts)
	must(t, err)
	target.Addresses = a
	for _, server := range target.Ensemble.Servers() {
		addr, err := tap.Client(0).Listen(server, nil)
		must(t, err)
		first = append(first, addr)
	}
	return first
}

func TestMemberMove_givesEveryMemberAnotherAddress(t *testing.T) {
	target, hosts := shared(t), filepath.Join(t.TempDir(), "hosts")
	known := addressed(t, &target, hosts)
	before, err := os.ReadFile(hosts)
	must(t, err)
	e := inject(t, parse(t, MemberMove, ""), target)
	if e.Undo != nil || strings.Count(e.Proof, "refuses connections") != 3 || strings.Count(e.Target, "zk") != 3 {
		t.Errorf("effect %+v", e)
	}
	after, err := os.ReadFile(hosts)
	must(t, err)
	for i, addr := range known {
		name, port, err := net.SplitHostPort(addr)
		must(t, err)
		old, now := net.JoinHostPort(ipOf(t, before, name), port), net.JoinHostPort(ipOf(t, after, name), port)
		if connectsTo(old) || old == now {
			t.Errorf("%s was %s, where connections succeed, and is %s", name, old, now)
		}
		m := ensembles.Member{Name: target.Ensemble.Members[i].Name, Addr: now}
		if _, err := ensembles.Ask(t.Context(), &m); err != nil {
			t.Errorf("%s at %s: %v", name, now, err)
		}
	}
}

func ipOf(t *testing.T, hosts []byte, name string) string {
	t.Helper()
	for line := range strings.Lines(string(hosts)) {
		if f := strings.Fields(line); len(f) == 2 && f[1] == name {
			return f[0]
		}
	}
	t.Fatalf("%s is not in\n%s", name, hosts)
	return ""
}

func TestMemberMove_leavesAListOneMember(t *testing.T) {
	target := shared(t)
	first := addressed(t, &target, "")
	for i, member := range []string{"zk1", "zk3", "zk2"} {
		f := parse(t, MemberMove, member, Known, KnownByList)
		if i < 2 {
			inject(t, f, target)
			continue
		}
		e, err := f.Inject(t.Context(), target)
		if !errors.Is(err, ErrNoEffect) || !errors.As(err, new(untouchedError)) {
			t.Errorf("the last: %+v, %v", e, err)
		}
	}
	must(t, allServe(t.Context(), target.Ensemble))
	for i, want := range []bool{false, true, false} {
		if connectsTo(first[i]) != want {
			t.Errorf("zk%d answers at its first address: %v, want %v", i+1, !want, want)
		}
	}
}

func TestMemberMove_isSkippedWithoutDrivers(t *testing.T) {
	if e, err := parse(t, MemberMove, Any).Inject(t.Context(), shared(t)); !errors.Is(err, ErrSkipped) {
		t.Errorf("%+v, %v", e, err)
	}
}
