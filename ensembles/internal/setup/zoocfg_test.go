package setup

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles/state"
)

func TestZooCfg_listsAllMembers(t *testing.T) {
	r := &state.Record{Tick: 500 * time.Millisecond, Members: []state.Member{
		{Name: "zk1", ID: 1, IP: "198.18.0.2", Ports: [3]int{2181, 2888, 3888}},
		{Name: "zk2", ID: 2, IP: "198.18.0.3", Ports: [3]int{2182, 2889, 3889}},
	}}
	const common = `tickTime=500
initLimit=10
syncLimit=5
maxClientCnxns=0
standaloneEnabled=false
admin.enableServer=false
4lw.commands.whitelist=*
`
	for name, test := range map[string]struct {
		everywhere bool
		want       string
	}{
		"a member may listen on all addresses": {true, `quorumListenOnAllIPs=true
dataDir=/data
server.1=198.18.0.2:2888:3888;2181
server.2=198.18.0.3:2889:3889;2182
`},
		"a member listens on its own address": {false, `quorumListenOnAllIPs=false
dataDir=/data
server.1=198.18.0.2:2888:3888;198.18.0.2:2181
server.2=198.18.0.3:2889:3889;198.18.0.3:2182
`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ZooCfg(r, test.everywhere, "dataDir=/data"); got != common+test.want {
				t.Errorf("got\n%s\nwant\n%s", got, strings.TrimSpace(common+test.want))
			}
		})
	}
}
