//go:build linux

package external

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/process"
)

func TestMain(m *testing.M) { check.Main(m) }

func theirs(t *testing.T) *ensembles.Ensemble {
	t.Helper()
	e, err := process.Start(t.Context(), ensembles.Options{Logf: t.Logf})
	check.OK(t, err)
	check.Down(t, e)
	return e
}

func TestStart_touchesNothing(t *testing.T) {
	their := theirs(t)
	t.Run("members are there to talk to and not to touch", func(t *testing.T) {
		e, err := Start(t.Context(), ensembles.Options{Servers: their.Servers()})
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != ensembles.External || e.Version != their.Version || e.Chroot != "/zkbench" || len(e.Members) != 3 {
			t.Errorf("got %+v", e)
		}
		for _, m := range e.Members {
			if m.Machine != nil || m.NetNS != "" || m.ContainerID != "" {
				t.Errorf("%s has something to touch: %+v", m.Name, m)
			}
		}
		if err := e.Down(t.Context()); err != nil {
			t.Error(err)
		}
		if err := ensembles.WaitServing(t.Context(), their); err != nil {
			t.Error("Down did more than let go:", err)
		}
	})
	t.Run("a member that is down is named", func(t *testing.T) {
		down := their.Members[2]
		if err := down.Machine.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := Start(t.Context(), ensembles.Options{Servers: their.Servers()})
		if !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), down.Addr) {
			t.Errorf("got %v", err)
		}
	})
}

func TestStart_namesEveryMemberThatCannotBeUsed(t *testing.T) {
	servers := []string{replies(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), replies(t, "")}
	_, err := Start(t.Context(), ensembles.Options{Servers: servers})
	for _, server := range servers {
		if err == nil || !strings.Contains(err.Error(), server) {
			t.Errorf("%s is not in: %v", server, err)
		}
	}
}

func TestStart_seesObserversByTheirMode(t *testing.T) {
	e, err := Start(t.Context(), ensembles.Options{Servers: []string{replies(t, "Mode: leader\n"), replies(t, "Mode: observer\n")}})
	if err != nil {
		t.Fatal(err)
	}
	if e.Members[0].Observer || !e.Members[1].Observer {
		t.Errorf("%s votes", e.Size())
	}
}

// TestAsk_allowsARefusal answers as a gateway or another implementation of the protocol
// may: Apache's server always answers srvr, since zkServer.sh needs it.
func TestAsk_allowsARefusal(t *testing.T) {
	for _, test := range []struct {
		name, reply string
		want        string // in the error; empty for no error
	}{
		{"a member that refuses srvr is there, of unknown version", "srvr is not executed because it is not in the whitelist.\n", ""},
		{"a member without a quorum cannot be used", "This ZooKeeper instance is not currently serving requests\n", "not currently serving"},
		{"something else that listens cannot be used", "HTTP/1.1 400 Bad Request\r\n\r\n", "400 Bad Request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			said, err := ask(t.Context(), &ensembles.Member{Addr: replies(t, test.reply)})
			if said != (ensembles.Server{}) {
				t.Errorf("got %+v", said)
			}
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

// replies listens, and answers the first question with the reply.
func replies(t *testing.T, reply string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	for _, test := range []struct {
		name    string
		options ensembles.Options
		want    string
	}{
		{"no servers", ensembles.Options{}, "needs --servers"},
		{"an address without a port", ensembles.Options{Servers: []string{"zk1"}}, "missing port"},
		{"a chroot in the address", ensembles.Options{Servers: []string{"zk1:2181/app"}}, "--servers zk1:2181 --chroot /app"},
		{"a port beyond the last", ensembles.Options{Servers: []string{"zk1:70000"}}, "is not a port"},
		{"no host", ensembles.Options{Servers: []string{":2181"}}, "the host is missing"},
		{"the same server twice", ensembles.Options{Servers: []string{"zk1:2181", "zk1:2181"}}, "is listed twice"},
		{"the root of their tree", ensembles.Options{Servers: []string{"zk1:2181"}, Chroot: "/"}, "below the root"},
		{"a relative chroot", ensembles.Options{Servers: []string{"zk1:2181"}, Chroot: "zkbench"}, "absolute path"},
		{"a chroot with a slash at its end", ensembles.Options{Servers: []string{"zk1:2181"}, Chroot: "/a/"}, "absolute path"},
		{"another number of members", ensembles.Options{Servers: []string{"zk1:2181"}, Members: 3}, "--members is 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Start(t.Context(), test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}
