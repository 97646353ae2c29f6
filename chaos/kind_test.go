package chaos

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/chaos/network"
)

func TestCatalogue_saysAllOfEachKind(t *testing.T) {
	if len(Catalogue()) == 0 {
		t.Fatal("empty")
	}
	seen := map[string]bool{}
	for _, k := range Catalogue() {
		t.Run(k.Name, func(t *testing.T) {
			if seen[k.Name] {
				t.Error("there are two of it")
			}
			seen[k.Name] = true
			if k.About == "" || k.Needs() == "" || k.Proof == "" {
				t.Errorf("it does not say all about itself: %+v", k)
			}
			if k.Targets != nil && !slices.Contains(k.Targets, k.Target) {
				t.Errorf("its default target %q is none of %v", k.Target, k.Targets)
			}
			f, err := Parse(k.Name, "", nil)
			must(t, err)
			if f.String() != k.Name {
				t.Errorf("the fault calls itself %q", f)
			}
			for _, p := range k.Params {
				if p.About == "" {
					t.Errorf("parameter %s says nothing about itself", p.Name)
				}
			}
		})
	}
}

func TestParse_readsNameTargetAndParameters(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := parse(t, "session.close", "client 17")
	if _, err := f.Inject(ctx, Target{}); f.String() != "session.close" || !strings.Contains(err.Error(), "client 17 (of 0 clients)") {
		t.Errorf("got %v, %v", f, err)
	}
	for _, row := range []struct {
		name, fault, target string
		params              map[string]string
		want                string
	}{
		{"a name with a slip", "session.clsoe", "", nil, `"session.clsoe" is not a fault; known: client.kill, client.pause, client.restart, link.delay, `},
		{"a name from nowhere", "x", "", nil, ", session.storm"},
		{"a client where a member belongs", "partition.isolate", "holder", nil, "the fault affects a member: use leader, follower, any"},
		{"a member where a client belongs", "session.close", "leader", nil, `target "leader" is not a client, but the fault affects a client: use a client's number or a name; known: holder, next, waiter, random`},
		{"a target with a slip", "session.close", "hodler", nil, `"hodler" is not a client, but the fault affects a client`},
		{"a parameter of nothing", "session.close", "", map[string]string{"now": "yes"}, `"now" is not a parameter of this fault; there are none`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := Parse(row.fault, row.target, row.params); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTouchesMembers_isFalseForClientsFaults(t *testing.T) {
	for name, want := range map[string]bool{"partition.isolate": true, "session.close": false, "nothing": false} {
		if TouchesMembers(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestParse_namesTheFaultInItsErrors(t *testing.T) {
	f, err := Parse("session.storm", "", nil)
	must(t, err)
	if _, err := f.Inject(t.Context(), Target{}); !errors.Is(err, ErrNoEffect) || !strings.HasPrefix(err.Error(), "session.storm: ") {
		t.Errorf("got %v", err)
	}
}

func TestKind_isMissingWhereAMachineLacksANeed(t *testing.T) {
	none := errors.New("not here")
	for _, row := range []struct {
		name, fault string
		able        Abilities
		missing     bool
	}{
		{"a client's fault needs nothing of the machine", "session.close", Abilities{Docker: none, Java: none, Abilities: network.Abilities{Namespaces: none, Filter: none, Delay: none}}, false},
		{"a member's fault needs an ensemble of ours", "member.kill", Abilities{Docker: none, Java: none}, true},
		{"local members do", "member.kill", Abilities{Docker: none, Abilities: network.Abilities{Namespaces: none}}, false},
		{"local members cannot be cut without rights", "partition.isolate", Abilities{Docker: none, Abilities: network.Abilities{Namespaces: none}}, true},
		{"nor without a packet filter", "partition.isolate", Abilities{Docker: none, Abilities: network.Abilities{Filter: none}}, true},
		{"Docker has the rights that we lack", "partition.isolate", Abilities{Abilities: network.Abilities{Namespaces: none, Filter: none}}, false},
		{"a kernel without netem delays nothing, in a container either", "link.delay", Abilities{Abilities: network.Abilities{Delay: none}}, true},
		{"whether the kernel has netem is not known without rights", "link.delay", Abilities{Abilities: network.Abilities{Namespaces: none, Delay: none}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			k, err := KindOf(row.fault)
			must(t, err)
			if err := k.CheckMachine(row.able); (err != nil) != row.missing {
				t.Errorf("missing: %v", err)
			}
		})
	}
}

func TestKind_hitsItsDefaultFirst(t *testing.T) {
	for name, want := range map[string]string{
		"link.loss":       "follower, leader, any, observer, minority, majority, member of CLIENT, a member's name",
		"partition.split": "leader, follower, any, observer, member of CLIENT, a member's name",
		"session.close":   "holder, next, waiter, random, a client's number",
		"partition.ring":  "",
	} {
		k, err := KindOf(name)
		must(t, err)
		if got := k.TargetsText(); got != want {
			t.Errorf("%s hits %q, want %q", name, got, want)
		}
	}
}
