//go:build linux

package external

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/process"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestStart_touchesNothing(t *testing.T) {
	their, err := process.Start(t.Context(), ensembles.Options{Logf: t.Logf})
	check.OK(t, err)
	check.Down(t, their)
	e, err := Start(t.Context(), ensembles.Options{Servers: their.Servers()})
	check.OK(t, err)
	if e.Kind != ensembles.External || e.Version != their.Version || e.Chroot != "/zkbench" || len(e.Members) != 3 {
		t.Errorf("got %+v", e)
	}
	for _, m := range e.Members {
		if m.Machine != nil || m.NetNS != "" || m.ContainerID != "" {
			t.Errorf("%s has something to touch: %+v", m.Name, m)
		}
	}
	check.OK(t, e.Down(t.Context()))
	if err := ensembles.WaitServing(t.Context(), their); err != nil {
		t.Error("Down did more than let go:", err)
	}
	down := their.Members[2]
	check.OK(t, down.Machine.Kill(t.Context()))
	_, err = Start(t.Context(), ensembles.Options{Servers: their.Servers()})
	check.Error(t, err, down.Addr)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a member that is down: %v", err)
	}
}

func TestStart_namesEveryMemberThatCannotBeUsed(t *testing.T) {
	servers := []string{replies(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), replies(t, "")}
	_, err := Start(t.Context(), ensembles.Options{Servers: servers})
	check.Error(t, err, servers...)
}

func TestStart_seesObserversByTheirMode(t *testing.T) {
	e, err := Start(t.Context(), ensembles.Options{Servers: []string{replies(t, "Mode: leader\n"), replies(t, "Mode: observer\n")}})
	check.OK(t, err)
	if e.Members[0].Observer || !e.Members[1].Observer {
		t.Errorf("%s votes", e.Size())
	}
}

// TestAsk_allowsARefusal answers as a gateway or another implementation of the protocol
// may: Apache's server always answers srvr, since zkServer.sh needs it.
func TestAsk_allowsARefusal(t *testing.T) {
	for reply, want := range map[string]string{ // in the error; empty for no error
		"srvr is not executed because it is not in the whitelist.\n":  "",
		"This ZooKeeper instance is not currently serving requests\n": "not currently serving",
		"HTTP/1.1 400 Bad Request\r\n\r\n":                            "400 Bad Request",
	} {
		said, err := ask(t.Context(), &ensembles.Member{Addr: replies(t, reply)})
		check.Error(t, err, want)
		if said != (ensembles.Server{}) {
			t.Errorf("%q: got %+v", reply, said)
		}
	}
}

// replies listens, and answers the first question with the reply.
func replies(t *testing.T, reply string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.ReadFull(c, make([]byte, 4))
		_, _ = io.WriteString(c, reply)
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

func TestStart_refusesWrongOptions(t *testing.T) {
	one := []string{"zk1:2181"}
	for want, o := range map[string]ensembles.Options{
		"needs --servers":                           {},
		"missing port":                              {Servers: []string{"zk1"}},
		"--servers zk1:2181 --chroot /app":          {Servers: []string{"zk1:2181/app"}},
		"is not a port":                             {Servers: []string{"zk1:70000"}},
		"the host is missing":                       {Servers: []string{":2181"}},
		"is listed twice":                           {Servers: []string{"zk1:2181", "zk1:2181"}},
		`"/": give an absolute path below the root`: {Servers: one, Chroot: "/"},
		`"zkbench": give an absolute path`:          {Servers: one, Chroot: "zkbench"},
		`"/a/": give an absolute path`:              {Servers: one, Chroot: "/a/"},
		"--members is 3":                            {Servers: one, Members: 3},
	} {
		_, err := Start(t.Context(), o)
		check.Error(t, err, want)
	}
}
