package ensembles

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"testing"
	"time"
)

const leaderReply = `Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25 08:49 UTC
Latency min/avg/max: 0/0.5/12
Received: 14
Sent: 13
Connections: 2
Outstanding: 0
Zxid: 0x300000007
Mode: leader
Node count: 5
Proposal sizes last/min/max: 32/32/36
`

func TestParseServer_readsSrvr(t *testing.T) {
	for name, test := range map[string]struct {
		reply string
		want  Server
		err   string
	}{
		"a leader":                     {leaderReply, Server{Mode: ModeLeader, Version: "3.8.0", Zxid: 0x300000007, Connections: 2}, ""},
		"a member without a quorum":    {"This ZooKeeper instance is not currently serving requests\n", Server{}, `"This ZooKeeper instance is not`},
		"a member that says nothing":   {"", Server{}, "an empty reply"},
		"a zxid that is not a number":  {"Zxid: 0xzz\nMode: leader\n", Server{}, "Zxid: 0xzz"},
		"a count that is not a number": {"Connections: few\nMode: leader\n", Server{}, "Connections: few"},
		"a standalone server":          {"Zxid: 0x5\nMode: standalone\n", Server{Mode: ModeStandalone, Zxid: 5}, ""},
	} {
		got, err := parseServer(test.reply)
		if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) || got != test.want {
			t.Errorf("%s: got %+v, %v; want %+v, %q", name, got, err, test.want, test.err)
		}
	}
}

func TestParseMonitor_readsMntr(t *testing.T) {
	got, err := parseMonitor("zk_version\t3.8.0-5a02a05\nzk_server_state\tleader\nzk_watch_count\t17\nzk_avg_latency\t0.25\nprocess_cpu\t-1\n")
	if want := map[string]float64{"watch_count": 17, "avg_latency": 0.25, "process_cpu": -1}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if _, err := parseMonitor("This ZooKeeper instance is not currently serving requests\n"); err == nil {
		t.Error("no error without counters")
	}
}

func FuzzParseServer(f *testing.F) {
	f.Add(leaderReply)
	f.Add("Mode: ")
	f.Fuzz(func(t *testing.T, reply string) {
		if s, err := parseServer(reply); err == nil && s.Mode == "" {
			t.Error("it serves without a mode")
		}
	})
}

func FuzzParseMonitor(f *testing.F) {
	f.Add("zk_watch_count\t17\n")
	f.Add("zk_\tNaN\nx\t")
	f.Fuzz(func(t *testing.T, reply string) {
		if counters, err := parseMonitor(reply); err == nil && len(counters) == 0 {
			t.Error("no counters and no error")
		}
	})
}

// listen returns a listener of which nobody accepts a connection, as of a frozen member, and its address.
func listen(t *testing.T) (net.Listener, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, l.Addr().String()
}

// closed is an address at which nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	l, addr := listen(t)
	l.Close()
	return addr
}

func TestFourLetter_endsWithItsContext(t *testing.T) {
	_, frozen := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := FourLetter(ctx, &Member{Addr: frozen}, "srvr"); !errors.Is(err, context.Canceled) {
		t.Errorf("a frozen member: %v", err)
	}
}

func TestFourLetter_saysWhatIsWrong(t *testing.T) {
	addr := closed(t)
	if _, err := FourLetter(t.Context(), &Member{Addr: addr}, "ruok"); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("%v, want %q in it", err, addr)
	}
}

func TestLeader_saysWhatEachMemberSays(t *testing.T) {
	_, frozen := listen(t)
	e := &Ensemble{Members: []*Member{{Name: "zk1", Addr: closed(t)}, {Name: "zk2", Addr: frozen}}}
	began := time.Now()
	_, err := Leader(t.Context(), e)
	if !errors.Is(err, errNoLeader) || !strings.Contains(err.Error(), "zk1 not serving") || !strings.Contains(err.Error(), "zk2 not serving") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 3*tryTimeout {
		t.Errorf("two members that do not serve took %v", took)
	}
}

// A client of a follower may have its reply before the leader shows what it was for.
func TestApplied_isWhatAnyMemberShows(t *testing.T) {
	all := []MemberStatus{
		{Server: Server{Mode: ModeLeader, Zxid: 0x100000007}},
		{Server: Server{Mode: ModeFollower, Zxid: 0x100000008}},
		{Server: Server{Zxid: 0x100000009}, Err: errors.New("gone")},
	}
	if got := highestZxid(all); got != 0x100000008 {
		t.Errorf("got %#x", got)
	}
}
