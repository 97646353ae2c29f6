package setup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestNew_fillsInDefaults(t *testing.T) {
	r, err := New(ensembles.Process, ensembles.Options{})
	if err != nil || len(r.Members) != 3 || r.Tick != 2*time.Second || r.Kind != ensembles.Process || r.Owner != state.Self() {
		t.Fatalf("got %+v, %v", r, err)
	}
	if m := r.Members[2]; m.Name != "zk3" || m.ID != 3 || m.Ports != [3]int{2181, 2888, 3888} {
		t.Errorf("got %+v", m)
	}
	if other, _ := New(ensembles.Process, ensembles.Options{}); other.ID == r.ID || len(r.ID) != 8 {
		t.Errorf("two ensembles are called %q and %q", r.ID, other.ID)
	}
}

func TestNew_refuses(t *testing.T) {
	for want, o := range map[string]ensembles.Options{
		"30 members and 0 observers: the total must be between 1 and 29": {Members: 30},
		"-1 members":                  {Members: -1},
		"20 members and 10 observers": {Members: 20, Observers: 10},
		"-1 observers":                {Members: 5, Observers: -1},
		"whole milliseconds":          {Tick: time.Microsecond},
		`unknown security "tsl" of an ensemble: choose tls, digest`: {Secure: []string{"tsl"}},
		"a persistent ensemble": {Secure: []string{"tls"}, Keep: true},
	} {
		_, err := New(ensembles.Process, o)
		check.Error(t, err, want)
	}
}

func TestOnce_triesAgainUntilItSucceeds(t *testing.T) {
	failed := errors.New("still there")
	calls := 0
	down := Once(func(context.Context) error {
		if calls++; calls == 1 {
			return failed
		}
		return nil
	})
	for i, want := range []error{failed, nil, nil} {
		if err := down(t.Context()); err != want {
			t.Errorf("call %d: %v, want %v", i+1, err, want)
		}
	}
	if calls != 2 {
		t.Errorf("it was done %d times", calls)
	}
}

func TestFreePorts_areFreeAndDifferent(t *testing.T) {
	ports, err := FreePorts(20)
	if err != nil || len(ports) != 20 {
		t.Fatalf("got %v, %v", ports, err)
	}
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil || port < lowestPort || port >= highestPort {
			t.Errorf("port %d is there twice, taken or out of range: %v", port, err)
			continue
		}
		defer l.Close()
	}
}

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
	for everywhere, want := range map[bool]string{
		true: `quorumListenOnAllIPs=true
dataDir=/data
server.1=198.18.0.2:2888:3888;2181
server.2=198.18.0.3:2889:3889;2182
`,
		false: `quorumListenOnAllIPs=false
dataDir=/data
server.1=198.18.0.2:2888:3888;198.18.0.2:2181
server.2=198.18.0.3:2889:3889;198.18.0.3:2182
`,
	} {
		if got := ZooCfg(r, r.Members[0], everywhere, "dataDir=/data"); got != common+want {
			t.Errorf("got\n%s\nwant\n%s", got, common+want)
		}
	}
}

func TestZooCfg_namesObservers(t *testing.T) {
	r, err := New(ensembles.Process, ensembles.Options{Members: 1, Observers: 1})
	check.OK(t, err)
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
