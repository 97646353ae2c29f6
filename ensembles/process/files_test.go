//go:build linux

package process

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles/state"
)

func TestZooCfg_suitsTheNetwork(t *testing.T) {
	r := &state.Record{Dir: "/tmp/d", Members: []state.Member{
		{Name: "zk1", NetNS: "/run/netns/a"},
		{Name: "zk2"},
	}}
	for name, test := range map[string]struct {
		member state.Member
		want   string
	}{
		"in a namespace a member listens on all addresses": {r.Members[0], "quorumListenOnAllIPs=true\n"},
		"on loopback a member is not open to the outside":  {r.Members[1], "quorumListenOnAllIPs=false\n"},
		"each member has a data folder of its own":         {r.Members[1], "dataDir=/tmp/d/zk2/data\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := zooCfg(r, test.member); !strings.Contains(got, test.want) {
				t.Errorf("no %q in\n%s", test.want, got)
			}
		})
	}
}
