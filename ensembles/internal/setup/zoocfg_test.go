package setup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
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
clientPortListenBacklog=4096
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
			if got := ZooCfg(r, r.Members[0], test.everywhere, "dataDir=/data"); got != common+test.want {
				t.Errorf("got\n%s\nwant\n%s", got, strings.TrimSpace(common+test.want))
			}
		})
	}
}

func TestZooCfg_namesObservers(t *testing.T) {
	r, err := New(ensembles.Process, ensembles.Options{Members: 1, Observers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Members {
		r.Members[i].IP = fmt.Sprintf("198.18.0.%d", i+2)
	}
	const servers = "server.1=198.18.0.2:2888:3888;2181\nserver.2=198.18.0.3:2888:3888:observer;2181\n"
	for i, want := range []string{servers, "peerType=observer\n" + servers} {
		cfg := ZooCfg(r, r.Members[i], true)
		if _, got, _ := strings.Cut(cfg, "quorumListenOnAllIPs=true\n"); got != want {
			t.Errorf("%s has\n%s\nwant\n%s", r.Members[i].Name, got, want)
		}
	}
}
