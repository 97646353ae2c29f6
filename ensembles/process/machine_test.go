//go:build linux

package process

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

// mode is what a member says that it is, or "" when it does not serve.
func mode(ctx context.Context, m *ensembles.Member) string {
	return ensembles.Status(ctx, &ensembles.Ensemble{Members: []*ensembles.Member{m}})[0].Server.Mode
}

func awaitMode(t *testing.T, m *ensembles.Member, want ...string) {
	t.Helper()
	ctx := within(t, 20*time.Second)
	got := ""
	err := await(ctx, func() bool {
		got = mode(ctx, m)
		for _, w := range want {
			if got == w {
				return true
			}
		}
		return false
	})
	if err != nil {
		t.Fatalf("%s is %q, want %q", m.Name, got, want)
	}
}

func withMode(t *testing.T, e *ensembles.Ensemble, want string) *ensembles.Member {
	t.Helper()
	for _, m := range e.Members {
		if mode(t.Context(), m) == want {
			return m
		}
	}
	t.Fatalf("no member is %s", want)
	return nil
}

func running(t *testing.T, m *ensembles.Member) bool {
	t.Helper()
	r, err := m.Machine.Running(t.Context())
	ok(t, err)
	return r
}

func TestMachine(t *testing.T) {
	e := up(t, ensembles.Options{})
	ctx := within(t, time.Minute)

	t.Run("a killed follower is gone, starts again at its address and rejoins", func(t *testing.T) {
		m := withMode(t, e, "follower")
		before := m.Addr
		ok(t, m.Machine.Kill(ctx))
		if running(t, m) || mode(ctx, m) != "" {
			t.Error("it runs after Kill returned")
		}
		ok(t, m.Machine.Kill(ctx)) // again, of the dead
		ok(t, m.Machine.Start(ctx))
		awaitMode(t, m, "follower")
		if m.Addr != before {
			t.Errorf("its address was %s and is %s", before, m.Addr)
		}
	})
	t.Run("a stopped leader is replaced, and comes back as a follower", func(t *testing.T) {
		m := withMode(t, e, "leader")
		ok(t, m.Machine.Stop(ctx))
		if running(t, m) {
			t.Error("it runs after Stop returned")
		}
		ok(t, m.Machine.Start(ctx))
		awaitMode(t, m, "follower")
	})
	t.Run("a paused member keeps its sockets and answers nothing until it is resumed", func(t *testing.T) {
		m := withMode(t, e, "follower")
		ok(t, m.Machine.Pause(ctx))
		if !running(t, m) {
			t.Error("a paused member is not running")
		}
		c, err := net.DialTimeout("tcp", m.Addr, time.Second)
		if err != nil {
			t.Error("its socket is closed:", err)
		} else {
			c.Close()
		}
		if got := mode(ctx, m); got != "" {
			t.Errorf("it answers: %q", got)
		}
		ok(t, m.Machine.Resume(ctx))
		awaitMode(t, m, "follower")
	})
	t.Run("a paused member can be stopped", func(t *testing.T) {
		m := withMode(t, e, "follower")
		ok(t, m.Machine.Pause(ctx))
		ok(t, m.Machine.Stop(ctx))
		if err := m.Machine.Pause(ctx); err == nil || !strings.Contains(err.Error(), "does not run") {
			t.Errorf("pausing a stopped member: %v", err)
		}
		ok(t, m.Machine.Start(ctx))
		awaitMode(t, m, "follower")
	})
	t.Run("what runs cannot be started again", func(t *testing.T) {
		if err := e.Members[0].Machine.Start(ctx); err == nil || !strings.Contains(err.Error(), "runs already") {
			t.Errorf("got %v", err)
		}
	})
}

func TestMachine_Save(t *testing.T) {
	e := up(t, ensembles.Options{Members: 1})
	ctx := within(t, time.Minute)
	t.Run("configuration and log are saved, and the log tells of both lives", func(t *testing.T) {
		dir := t.TempDir()
		m := e.Members[0]
		ok(t, m.Machine.Kill(ctx))
		ok(t, m.Machine.Start(ctx))
		awaitMode(t, m, "leader")
		ok(t, m.Machine.Save(ctx, dir))
		cfg, err := os.ReadFile(filepath.Join(dir, m.Name+".cfg"))
		ok(t, err)
		log, err := os.ReadFile(filepath.Join(dir, m.Name+".log"))
		ok(t, err)
		if !strings.Contains(string(cfg), "tickTime=2000\n") {
			t.Errorf("got configuration %s", cfg)
		}
		if n := strings.Count(string(log), "Starting quorum peer"); n < 2 {
			t.Errorf("the log tells of %d starts, want 2 at least", n)
		}
	})
}

func TestMachine_Start_takenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	m := machine{
		record: &state.Record{ID: "test", Dir: t.TempDir()},
		member: state.Member{Name: "zk1", IP: "127.0.0.1", Ports: [3]int{port, 0, 0}},
	}
	if err := m.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("got %v", err)
	}
}
