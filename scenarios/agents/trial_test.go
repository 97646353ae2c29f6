package agents

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// several has agents join by the names a, b and so on. end ends one and waits until it is
// lost.
func several(t *testing.T, n int) (f *Fleet, end func(name string)) {
	t.Helper()
	f = listening(t)
	leave := map[string]context.CancelFunc{}
	for i := range n {
		name := string(rune('a' + i))
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		leave[name] = cancel
		go func() { _ = Agent{Name: name, Version: "v1", Index: i, Logf: t.Logf}.Serve(ctx, f.Join("")) }()
	}
	must(t, f.Await(t.Context(), n))
	return f, func(name string) {
		t.Helper()
		for _, p := range f.alive() {
			if p.name == name {
				leave[name]()
				<-p.closed
			}
		}
	}
}

// begun is a trial on agents. lost is told of those that are lost; nil is allowed.
func begun(t *testing.T, f *Fleet, lost func(name string, clients []int, at time.Duration)) *Trial {
	t.Helper()
	trial, err := f.Begin(Options{Trial: "t", Parent: "/line", At: func(time.Time) time.Duration { return 0 }, Lost: lost})
	must(t, err)
	t.Cleanup(trial.Close)
	return trial
}

// sink is an address that takes connections and keeps them until they end.
func sink(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// connect has a client connect once where it lives now.
func connect(t *testing.T, c wire.Client, server string) {
	t.Helper()
	before := c.Counts().Connections
	addr, err := c.Listen(server, nil)
	must(t, err)
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	deadline := time.Now().Add(10 * time.Second)
	for c.Counts().Connections != before+1 {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are counted after %d and one more", c.Counts().Connections, before)
		}
	}
}

// What was counted of a client stays counted wherever it lives later, and whatever becomes of
// the agents where it has lived.
func TestTapped_countsGoWithTheClient(t *testing.T) {
	f, end := several(t, 3)
	server := sink(t)
	trial := begun(t, f, nil)
	lives := func(want string) {
		t.Helper()
		at, err := trial.Site(4)
		if err != nil || at.Name() != want {
			t.Fatalf("client 4 lives on %v (%v), want %s", at, err, want)
		}
	}
	counted := func(when string, want int64) {
		t.Helper()
		if got := trial.Client(4).Counts().Connections; got != want {
			t.Errorf("%s: %d connections of client 4, want %d", when, got, want)
		}
		if got := trial.Totals().Connections; got != want {
			t.Errorf("%s: %d connections of all, want %d", when, got, want)
		}
	}
	lives("b")
	connect(t, trial.Client(4), server)
	counted("at first", 1)
	end("c")
	lives("b") // whose clients stay
	counted("when another agent is lost", 1)
	end("b")
	counted("when its own is lost", 1)
	lives("a")
	counted("where it lives then", 1)
	connect(t, trial.Client(4), server)
	counted("once more", 2)
	end("a")
	counted("when it lives nowhere", 2)
}

// The calls about a client's connections and its rules reach the tap on the agent.
func TestTapped_rulesAndHoldsReachTheAgent(t *testing.T) {
	f, _ := several(t, 1)
	trial := begun(t, f, nil)
	_, err := trial.Site(0)
	must(t, err)
	c := trial.Client(0)
	for range 2 {
		rule, err := c.Arm(wire.Rule{Op: wire.Create, Act: wire.DropReply})
		must(t, err)
		rule.Release()
		if !rule.Disarm() || rule.Disarm() {
			t.Error("only the first disarm of a rule that has not matched is in time")
		}
		if proof, fired := <-rule.Fired(); fired {
			t.Errorf("the disarmed rule fired: %+v", proof)
		}
	}
	must(t, c.Hold())
	if err := c.Hold(); err == nil {
		t.Error("a second hold began during the first")
	}
	c.EndHold()
	c.SetGateClosed(true)
	if n := c.Cut(); n != 0 {
		t.Errorf("%d connections were cut, want 0", n)
	}
}

// Two may ask at once. Neither is shown less than there was when it asked.
func TestTapped_aLateAnswerChangesNothing(t *testing.T) {
	p := &peer{closed: make(chan struct{})}
	c := &agentClient{peer: p, countsByPeer: map[*peer]*wire.Counts{}}
	for _, answer := range []struct{ question, connections int64 }{{2, 7}, {1, 6}} {
		c.store(answer.question, p, msg.ClientState{Counts: wire.Counts{Connections: answer.connections}})
		if got := c.countsOn(p).Connections; got != 7 || c.last.Counts.Connections != 7 {
			t.Errorf("after the answer to question %d it shows %d connections, and last %d; want 7", answer.question, got, c.last.Counts.Connections)
		}
	}
}

// Its clients go to others as soon as an agent is taken for lost: who they were is told before.
func TestTrial_isToldOfALostAgentBeforeItsClientsMove(t *testing.T) {
	f, end := several(t, 2)
	told := make(chan []int, 2)
	trial := begun(t, f, func(_ string, clients []int, _ time.Duration) { told <- clients })
	at, err := trial.Site(0)
	must(t, err)
	f.logf = func(string, ...any) { // it is lost
		if _, err := trial.Site(0); err != nil {
			t.Errorf("client 0 is not taken over: %v", err)
		}
	}
	end(at.Name())
	select {
	case clients := <-told:
		if len(clients) != 1 || clients[0] != 0 {
			t.Errorf("clients %v lived there, want client 0", clients)
		}
	case <-time.After(10 * time.Second):
		t.Error("nobody was told")
	}
}
