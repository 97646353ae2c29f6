//go:build linux

package process

import (
	"fmt"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles/state"
)

func TestZooCfg(t *testing.T) {
	r := &state.Record{Dir: "/tmp/d", Tick: 500 * time.Millisecond, Members: []state.Member{
		{Name: "zk1", ID: 1, IP: "198.18.0.2", Ports: [3]int{2181, 2888, 3888}, NetNS: "/run/netns/a"},
		{Name: "zk2", ID: 2, IP: "198.18.0.3", Ports: [3]int{2182, 2889, 3889}},
	}}
	const common = `tickTime=500
initLimit=10
syncLimit=5
dataDir=/tmp/d/%s/data
maxClientCnxns=0
standaloneEnabled=false
admin.enableServer=false
4lw.commands.whitelist=*
quorumListenOnAllIPs=%s
server.1=198.18.0.2:2888:3888;198.18.0.2:2181
server.2=198.18.0.3:2889:3889;198.18.0.3:2182
`
	for _, test := range []struct {
		name   string
		member state.Member
		all    string // whether it listens on all addresses
	}{
		{"in a namespace a member listens on all addresses", r.Members[0], "true"},
		{"on loopback a member is not open to the outside", r.Members[1], "false"},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := fmt.Sprintf(common, test.member.Name, test.all)
			if got := zooCfg(r, test.member); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
