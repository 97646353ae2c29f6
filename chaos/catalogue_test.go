package chaos

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestCatalogue(t *testing.T) {
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
			if k.About == "" || k.Needs == "" || k.Proof == "" {
				t.Errorf("it does not say all about itself: %+v", k)
			}
			if k.Aims != nil && !slices.Contains(k.Aims, k.Target) {
				t.Errorf("its default target %q is none of %v", k.Target, k.Aims)
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

func TestParse(t *testing.T) {
	f, err := Parse("session.close", "client 17", nil)
	must(t, err)
	if want := (SessionClose{Client: "client 17"}); !reflect.DeepEqual(f, want) {
		t.Errorf("got %#v", f)
	}
	for _, row := range []struct {
		name, fault, target string
		params              map[string]string
		want                string
	}{
		{"a name with a slip", "session.clsoe", "", nil, `did you mean "session.close"?`},
		{"a name from nowhere", "x", "", nil, "there is session.close, "},
		{"a client where a member belongs", "partition.isolate", "holder", nil, "it hits a member: leader, follower, any"},
		{"a member where a client belongs", "session.close", "leader", nil, "it hits a client: holder, waiter, random"},
		{"a target with a slip", "session.close", "hodler", nil, `did you mean "holder"?`},
		{"a parameter of nothing", "session.close", "", map[string]string{"now": "yes"}, `"now" is no parameter of it; there is none`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := Parse(row.fault, row.target, row.params); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTouchesMembers(t *testing.T) {
	for name, want := range map[string]bool{"partition.isolate": true, "session.close": false, "nothing": false} {
		if TouchesMembers(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
