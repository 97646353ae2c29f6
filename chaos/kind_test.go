package chaos

import (
	"context"
	"errors"
	"fmt"
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
	for _, row := range []struct{ fault, target, param, value, want string }{
		{"session.clsoe", "", "", "", `"session.clsoe" is not a fault; known: client.kill, client.pause, `},
		{"x", "", "", "", ", session.storm"},
		{"partition.isolate", "holder", "", "", "the fault affects a member: use leader, follower, any"},
		{"session.close", "leader", "", "", `target "leader" is not a client, but the fault affects a client: ` +
			`use a client's number or a name; known: holder, next, waiter, random`},
		{"session.close", "hodler", "", "", `"hodler" is not a client, but the fault affects a client`},
		{"session.close", Majority, "", "", "the fault affects a client"},
		{"session.close", "member of holder", "", "", "the fault affects a client"},
		{"partition.split", Minority, "", "",
			"names several members, but the fault affects one: use leader, follower, any, observer"},
		{"partition.isolate", Minority, "", "", ""},
		{"member.kill", Majority, "", "", ""},
		{"member.kill", "member of holder", "", "", ""},
		{"member.kill", "member of client 2", "", "", ""},
		{"member.kill", "member of hodler", "", "", `"hodler" is not a client`},
		{"partition.split", "member of 2", "", "", ""},
		{"link.loss", Observer, "", "", ""},
		{"session.close", "", "now", "yes", `"now" is not a parameter of this fault; there are none`},
		{"reply.drop", "", "opp", "x", `"opp" is not a parameter of this fault; known: op, path, nth, within, keep`},
		{"reply.drop", "", "op", "op 42", `"op 42" is not a kind of request`},
		{"reply.drop", "", "op", "craete",
			`parameter op: "craete" is not a kind of request; known: addWatch, any, auth, change, check`},
		{"reply.drop", "", "nth", "0", "is not a whole number from 1"},
		{"reply.drop", "", "within", "5", "is not a duration"},
		{"reply.drop", "", "path", "/[", "is not a valid pattern"},
		{"reply.drop", "", "keep", "perhaps", "neither true nor false"},
	} {
		t.Run(fmt.Sprint(row), func(t *testing.T) {
			params := map[string]string{row.param: row.value}
			if row.param == "" {
				params = nil
			}
			_, err := Parse(row.fault, row.target, params)
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
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
		{"disks need local members", "disk.slow", Abilities{Java: none}, true},
		{"and FUSE", "disk.slow", Abilities{Disks: none}, true},
		{"Docker's members have disks of their own", "disk.fail", Abilities{Docker: none}, false},
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
