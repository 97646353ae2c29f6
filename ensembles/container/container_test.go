package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"go.uber.org/goleak"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs an ensemble for one test and proves at its end that nothing is left.
func start(t testing.TB, o ensembles.Options) *ensembles.Ensemble {
	t.Helper()
	needDocker(t)
	e, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if n := count(t, e.ID); n != 0 {
			t.Errorf("%d containers and networks of ensemble %s are left", n, e.ID)
		}
	})
	return e
}

// needDocker skips a test where the machine has no Docker, and nowhere else: a
// broken Available must not turn these tests off.
func needDocker(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/var/run/docker.sock"); err != nil && os.Getenv("DOCKER_HOST") == "" {
		t.Skip("no Docker here")
	}
	must(t, Available(t.Context()))
}

// count returns how many containers and networks Docker holds of an ensemble.
func count(t testing.TB, id string) int {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	docker, err := connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer docker.Close()
	all, err := find(ctx, docker, id)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range all {
		n += len(f.containers) + len(f.networks)
	}
	return n
}

// within bounds what a test waits for.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func follower(t testing.TB, e *ensembles.Ensemble) *ensembles.Member {
	t.Helper()
	for _, s := range ensembles.Status(t.Context(), e) {
		if s.Serves() && s.Server.Mode == ensembles.ModeFollower {
			return s.Member
		}
	}
	t.Fatal("no follower")
	return nil
}

// await polls until the condition holds.
func await(t testing.TB, what string, holds func(context.Context) bool) {
	t.Helper()
	ctx := within(t, 30*time.Second)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for !holds(ctx) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited 30 s for %s", what)
		}
	}
}

func TestEnsemble(t *testing.T) {
	// Ticks are short because members wait whole ticks before they give up a frozen leader.
	e := start(t, ensembles.Options{Tick: 500 * time.Millisecond})
	if len(e.Members) != 3 || e.Version == "" || e.Kind != ensembles.Container || e.Tick != 500*time.Millisecond {
		t.Fatalf("not the default ensemble: %+v", e)
	}
	t.Run("a killed follower comes back at the same address", func(t *testing.T) {
		m := follower(t, e)
		addr := m.Addr
		must(t, m.Machine.Kill(t.Context()))
		running(t, m, false)
		await(t, m.Name+" to fall silent", func(ctx context.Context) bool {
			return !ensembles.Status(ctx, &ensembles.Ensemble{Members: []*ensembles.Member{m}})[0].Serves()
		})
		if err := m.Machine.Kill(t.Context()); err != nil {
			t.Errorf("killing it again: %v", err)
		}
		if leader, err := ensembles.Leader(t.Context(), e); err != nil || leader == m {
			t.Errorf("the others lost their leader: %v", err)
		}
		must(t, m.Machine.Start(t.Context()))
		running(t, m, true)
		must(t, ensembles.WaitServing(within(t, 30*time.Second), e))
		if m.Addr != addr {
			t.Errorf("address %s, was %s", m.Addr, addr)
		}
	})
	t.Run("a stopped leader is replaced and comes back", func(t *testing.T) {
		old, err := ensembles.Leader(t.Context(), e)
		must(t, err)
		must(t, old.Machine.Stop(t.Context()))
		running(t, old, false)
		waitLeader(t, e, old)
		must(t, old.Machine.Start(t.Context()))
		must(t, ensembles.WaitServing(within(t, 30*time.Second), e))
	})
	t.Run("a frozen leader is replaced and thaws", func(t *testing.T) {
		old, err := ensembles.Leader(t.Context(), e)
		must(t, err)
		must(t, old.Machine.Pause(t.Context()))
		must(t, old.Machine.Pause(t.Context()))
		running(t, old, true)
		waitLeader(t, e, old)
		must(t, old.Machine.Resume(t.Context()))
		must(t, old.Machine.Resume(t.Context()))
		must(t, ensembles.WaitServing(within(t, 30*time.Second), e))
	})
	t.Run("a frozen follower can be killed", func(t *testing.T) {
		m := follower(t, e)
		must(t, m.Machine.Pause(t.Context()))
		must(t, m.Machine.Kill(t.Context()))
		running(t, m, false)
		must(t, m.Machine.Start(t.Context()))
		must(t, ensembles.WaitServing(within(t, 30*time.Second), e))
	})
	t.Run("its files can be saved", func(t *testing.T) { save(t, e.Members[0]) })
	t.Run("a sweep spares what a living process owns", func(t *testing.T) {
		sweepOne(t, e.ID, true)
		if n := count(t, e.ID); n != 4 {
			t.Errorf("%d containers and networks are left of 4", n)
		}
	})
	t.Run("it goes away for a cancelled context, and twice", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		must(t, e.Down(ctx))
		must(t, e.Down(ctx))
		if n := count(t, e.ID); n != 0 {
			t.Errorf("%d containers and networks are left", n)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func running(t testing.TB, m *ensembles.Member, want bool) {
	t.Helper()
	if got, err := m.Machine.Running(t.Context()); err != nil || got != want {
		t.Fatalf("%s running: %v, %v; want %v", m.Name, got, err, want)
	}
}

// waitLeader waits until somebody else leads.
func waitLeader(t testing.TB, e *ensembles.Ensemble, old *ensembles.Member) {
	t.Helper()
	await(t, "somebody to replace "+old.Name, func(ctx context.Context) bool {
		leader, err := ensembles.Leader(ctx, e)
		return err == nil && leader != old
	})
}

func save(t *testing.T, m *ensembles.Member) {
	dir := t.TempDir()
	must(t, m.Machine.Save(t.Context(), dir))
	for name, want := range map[string]string{".cfg": "server.1=", ".log": "QuorumPeer"} {
		text, err := os.ReadFile(filepath.Join(dir, m.Name+name))
		must(t, err)
		if !strings.Contains(string(text), want) {
			t.Errorf("%s%s does not hold %q:\n%.500s", m.Name, name, want, text)
		}
	}
}

func TestStart_oneMember(t *testing.T) {
	e := start(t, ensembles.Options{Members: 1, Tick: time.Second})
	leader, err := ensembles.Leader(t.Context(), e)
	must(t, err)
	if leader != e.Members[0] {
		t.Errorf("%s leads", leader.Name)
	}
}

// A kept ensemble outlives its process: here its labels say that the owner is dead.
func TestAttach(t *testing.T) {
	needDocker(t)
	p, err := newPlan(ensembles.Options{Keep: true, Members: 1, Logf: t.Logf})
	must(t, err)
	p.owner.Start, p.direct = "the one before", true
	e := startPlan(t, p)

	attached, err := Attach(t.Context(), e.ID)
	must(t, err)
	if attached.Members[0].Addr != e.Members[0].Addr || attached.Version != e.Version || attached.Tick != e.Tick {
		t.Errorf("attached to %+v, started %+v", attached, e)
	}
	must(t, attached.Members[0].Machine.Kill(t.Context()))
	running(t, e.Members[0], false)
	must(t, attached.Down(t.Context()))
	listed(t, e.ID, true)

	sweepOne(t, e.ID, false)
	if n := count(t, e.ID); n != 2 {
		t.Fatalf("a sweep left %d of the 2 things of a kept ensemble", n)
	}
	if removed := sweepOne(t, e.ID, true); !strings.Contains(removed, e.ID) {
		t.Errorf("the sweep does not tell that it removed %s: %q", e.ID, removed)
	}
	if n := count(t, e.ID); n != 0 {
		t.Errorf("a sweep of all left %d things", n)
	}
	listed(t, e.ID, false)
	if _, err := Attach(t.Context(), e.ID); err == nil || !strings.Contains(err.Error(), "no containers of an ensemble "+e.ID) {
		t.Errorf("attached to what is gone: %v", err)
	}
}

// sweepOne is Sweep for one ensemble: another test on this machine may keep its own.
func sweepOne(t *testing.T, id string, all bool) (removed string) {
	t.Helper()
	docker, err := connect(t.Context())
	must(t, err)
	defer docker.Close()
	ours, err := find(t.Context(), docker, id)
	must(t, err)
	lines, err := sweep(t.Context(), docker, ours, all)
	must(t, err)
	return strings.Join(lines, "\n")
}

// startPlan is Start with a plan of the test's own. What it makes goes with the test.
func startPlan(t *testing.T, p *plan) *ensembles.Ensemble {
	t.Helper()
	docker := dockerFor(t, p)
	e, err := p.start(t.Context(), docker)
	must(t, err)
	return e
}

// dockerFor connects to Docker for a plan, and removes what the plan made when the test ends.
func dockerFor(t *testing.T, p *plan) *client.Client {
	t.Helper()
	docker, err := connect(t.Context())
	must(t, err)
	t.Cleanup(func() {
		if err := errors.Join(remove(context.WithoutCancel(t.Context()), docker, p.id), docker.Close()); err != nil {
			t.Error(err)
		}
	})
	p.image, err = pickImage(t.Context(), docker, "", p.logf)
	must(t, err)
	return docker
}

func listed(t *testing.T, id string, want bool) {
	t.Helper()
	records, err := List(t.Context())
	must(t, err)
	for _, r := range records {
		if r.ID == id {
			if !want {
				t.Errorf("%s is listed", id)
			}
			return
		}
	}
	if want {
		t.Errorf("%s is not listed", id)
	}
}

func TestSweep_crashedRun(t *testing.T) {
	needDocker(t)
	p, err := newPlan(ensembles.Options{Members: 1, Logf: t.Logf})
	must(t, err)
	p.owner.Start, p.direct = "the one before", true
	startPlan(t, p)
	_, err = Sweep(t.Context(), false)
	must(t, err)
	if n := count(t, p.id); n != 0 {
		t.Errorf("%d containers and networks of a dead owner are left", n)
	}
}

func TestStart_withoutQuorum(t *testing.T) {
	needDocker(t)
	p, err := newPlan(ensembles.Options{Logf: t.Logf})
	must(t, err)
	docker := dockerFor(t, p)
	p.direct = true
	must(t, p.makeNetwork(t.Context(), docker))
	alone := *p
	alone.members = p.members[:1]
	// The configuration still names all three.
	must(t, p.runMember(t.Context(), &p.members[0]))
	e := alone.assemble(docker)
	await(t, "the member to answer that it has no quorum", func(ctx context.Context) bool {
		err := ensembles.Status(ctx, e)[0].Err
		return err != nil && strings.Contains(err.Error(), "not currently serving")
	})
	await(t, "the member to miss another", func(ctx context.Context) bool {
		dir := t.TempDir()
		must(t, e.Members[0].Machine.Save(ctx, dir))
		log, err := os.ReadFile(filepath.Join(dir, "zk1.log"))
		must(t, err)
		return strings.Contains(string(log), "Cannot open channel to 2")
	})
	err = ensembles.WaitServing(within(t, 2*time.Second), e)
	if err == nil {
		t.Fatal("one member of three serves")
	}
	for _, want := range []string{"zk1: ", "is not currently serving requests", "    | ", "Cannot open channel to 2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not hold %q:\n%v", want, err)
		}
	}
}

// Where containers cannot be dialled, clients use ports on this machine.
func TestStart_publishedPorts(t *testing.T) {
	needDocker(t)
	p, err := newPlan(ensembles.Options{Members: 1, Logf: t.Logf})
	must(t, err)
	m := startPlan(t, p).Members[0]
	if !strings.HasPrefix(m.Addr, "127.0.0.1:") {
		t.Fatalf("clients are to dial %s", m.Addr)
	}
	must(t, m.Machine.Kill(t.Context()))
	must(t, m.Machine.Start(t.Context()))
	must(t, ensembles.WaitServing(within(t, 30*time.Second), &ensembles.Ensemble{Members: []*ensembles.Member{m}}))
}

func TestStart_refuses(t *testing.T) {
	for name, test := range map[string]struct {
		o    ensembles.Options
		want string
	}{
		"more members than fit":          {ensembles.Options{Members: 30}, "between 1 and 29"},
		"fewer members than none":        {ensembles.Options{Members: -1}, "between 1 and 29"},
		"a tick that ZooKeeper rounds":   {ensembles.Options{Tick: time.Microsecond}, "whole milliseconds"},
		"an image that nobody can fetch": {ensembles.Options{Image: "127.0.0.1:1/zkbench/none:1"}, "127.0.0.1:1/zkbench/none:1 is not here and cannot be pulled"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.o.Image != "" {
				needDocker(t)
			}
			_, err := Start(t.Context(), test.o)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestStart_cancelled(t *testing.T) {
	needDocker(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	e, err := Start(ctx, ensembles.Options{Logf: t.Logf})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("started %v: %v", e, err)
	}
	records, err := List(context.WithoutCancel(t.Context()))
	must(t, err)
	for _, r := range records {
		if r.Owner == state.Self() {
			t.Errorf("ensemble %s is left", r.ID)
		}
	}
}

// BenchmarkStart measures from nothing to three members that serve.
func BenchmarkStart(b *testing.B) {
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		e := start(b, ensembles.Options{})
		took = append(took, time.Since(began))
		b.StopTimer()
		must(b, e.Down(b.Context()))
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "median-s")
	b.ReportMetric(took[len(took)-1].Seconds(), "max-s")
}
