package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles/state"
)

// A client that is a process of its own asks for a node again and again, from a process that
// it has started: all that it has started has to stop with it.
func init() {
	children["zk client"] = func() {
		conn, _, err := zk.Connect(strings.Split(os.Getenv("SERVERS"), ","), 10*time.Second, zk.WithLogger(quiet{}))
		if err != nil {
			panic(err)
		}
		for {
			_, _, _ = conn.Exists("/nobody")
		}
	}
	children["parent of a zk client"] = func() {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "ZKBENCH_TEST_CHILD=zk client")
		if err := child.Run(); err != nil {
			panic(err)
		}
	}
}

// child is a process as a driver's is.
type child struct {
	t       *testing.T
	servers string
	cmd     *exec.Cmd
	exited  chan struct{}
}

func (c *child) start() {
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), "ZKBENCH_TEST_CHILD=parent of a zk client", "SERVERS="+c.servers)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(c.t, c.cmd.Start())
	cmd, exited := c.cmd, make(chan struct{})
	c.exited = exited
	go func() { _ = cmd.Wait(); close(exited) }()
	c.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); <-exited })
}

func (c *child) PID() int                    { return c.cmd.Process.Pid }
func (c *child) Clients() []int              { return []int{0, 1} }
func (c *child) Group() (all, stopped []int) { return GroupHere(c.PID()) }
func (c *child) Pause() error                { return syscall.Kill(-c.PID(), syscall.SIGSTOP) }
func (c *child) Resume() error               { return syscall.Kill(-c.PID(), syscall.SIGCONT) }
func (c *child) Replace(string) error        { c.start(); return nil }
func (c *child) Kill() error {
	err := syscall.Kill(-c.PID(), syscall.SIGKILL)
	<-c.exited
	return err
}

// apart is a client that is a process of its own, and asks.
func apart(t *testing.T) (Target, *child) {
	t.Helper()
	target := shared(t)
	tap := wire.New(clock())
	t.Cleanup(tap.Close)
	c := &child{t: t}
	var listeners []string
	for _, server := range target.Ensemble.Servers() {
		addr, err := tap.Client(0).Listen(server, nil)
		must(t, err)
		listeners = append(listeners, addr)
	}
	c.servers = strings.Join(listeners, ",")
	c.start()
	target.Clients = []wire.Client{tap.Client(0)}
	target.Process = func(int) (Process, error) { return c, nil }
	asks(t, target)
	return target, c
}

// asks waits until the client has asked again.
func asks(t *testing.T, target Target) {
	t.Helper()
	before := target.Clients[0].Counts().BytesIn
	within(t, 20*time.Second, "the client asks", func() bool { return target.Clients[0].Counts().BytesIn > before })
}

func TestClientPause_stopsTheWholeProcessUntilItHeals(t *testing.T) {
	target, c := apart(t)
	e := inject(t, parse(t, "client.pause", "0"), target)
	before := target.Clients[0].Counts().BytesIn
	for _, p := range state.Group(c.PID()) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID)); err != nil || !strings.Contains(string(stat), ") T ") {
			t.Errorf("process %d is not stopped: %s %v", p.PID, stat, err)
		}
	}
	if e.Client != 0 || len(e.ServedClients) != 1 || e.ServedClients[0] != 1 || !strings.Contains(e.Target, "client 0, and in the same process clients 1") {
		t.Errorf("the effect names %q, client %d, others %v", e.Target, e.Client, e.ServedClients)
	}
	time.Sleep(100 * time.Millisecond) // it asks some hundred times in that when it runs
	if after := target.Clients[0].Counts().BytesIn; after > before+1000 {
		t.Errorf("%d bytes reached it while it was stopped", after-before)
	}
	must(t, e.Heal(t.Context()))
	must(t, e.Heal(t.Context()))
	asks(t, target)
}

func TestClientKill_leavesNothingUntilAnotherMayTakeItsPlace(t *testing.T) {
	target, c := apart(t)
	for _, name := range []string{"client.restart", "client.kill"} {
		old, session := c.PID(), target.Clients[0].Session().ID
		e := inject(t, parse(t, name, "0"), target)
		if left := state.Group(old); len(left) > 0 {
			t.Errorf("%s left: %v", name, left)
		}
		replaced := name == "client.restart"
		s := target.Clients[0].Session()
		if s.ID == 0 || (s.ID != session) != replaced || (c.PID() != old) != replaced || (e.Undo == nil) != replaced {
			t.Errorf("%s: session %#x is now %#x, process %d is %d; effect %+v", name, session, s.ID, old, c.PID(), e)
		}
		if e.Undo != nil {
			must(t, e.Undo(t.Context()))
		}
		asks(t, target)
	}
}
