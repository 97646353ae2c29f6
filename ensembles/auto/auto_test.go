//go:build linux

package auto

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestMain(m *testing.M) { check.Main(m) }

// logged collects what Logf received.
type logged struct {
	t     *testing.T
	mu    sync.Mutex
	lines []string
}

func (l *logged) logf(format string, args ...any) {
	l.t.Logf(format, args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *logged) want(t *testing.T, texts ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Join(l.lines, "\n")
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("it did not say %q, but\n%s", text, all)
		}
	}
}

func start(t *testing.T, o ensembles.Options) (*ensembles.Ensemble, *logged) {
	t.Helper()
	l := &logged{t: t}
	o.Logf = l.logf
	e, err := Start(t.Context(), o)
	check.OK(t, err)
	check.Down(t, e)
	return e, l
}

// withoutDocker makes this machine one that has no Docker.
func withoutDocker(t *testing.T) {
	t.Helper()
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
}

// kept starts an ensemble of one member that is kept. Its owner is this process,
// which changes nothing for whoever attaches.
func kept(t *testing.T) *ensembles.Ensemble {
	t.Helper()
	e, err := process.Start(t.Context(), ensembles.Options{Members: 1, Keep: true, Logf: t.Logf})
	check.OK(t, err)
	check.Down(t, e)
	return e
}

func TestStart_takesLocalJVMsWithoutDocker(t *testing.T) {
	withoutDocker(t)
	t.Run("local JVMs are taken, and the reason is logged", func(t *testing.T) {
		e, log := start(t, ensembles.Options{Members: 1})
		if e.Kind != ensembles.Process {
			t.Errorf("got kind %s", e.Kind)
		}
		log.want(t, "local JVMs instead of containers", "Docker socket")
	})
	t.Run("containers that were asked for are not replaced", func(t *testing.T) {
		_, err := Start(t.Context(), ensembles.Options{Kind: ensembles.Container})
		if err == nil || !strings.Contains(err.Error(), "--ensemble process") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("without Java too, both cures are named", func(t *testing.T) {
		t.Setenv("PATH", "")
		t.Setenv("JAVA_HOME", "")
		_, err := Start(t.Context(), ensembles.Options{})
		if err == nil || !strings.Contains(err.Error(), "no java found") || !strings.Contains(err.Error(), "Docker socket") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("sweeping and listing are no errors", func(t *testing.T) {
		if _, err := Sweep(t.Context(), false); err != nil {
			t.Error(err)
		}
		if _, err := state.List(); err != nil {
			t.Error(err)
		}
	})
}

func TestStart_usesAKeptEnsemble(t *testing.T) {
	withoutDocker(t)
	k := kept(t)
	t.Run("a kept ensemble that fits is used, and Down lets it be", func(t *testing.T) {
		e, log := start(t, ensembles.Options{})
		if e.ID != k.ID || e.Servers()[0] != k.Servers()[0] {
			t.Errorf("got %s, kept is %s", e.ID, k.ID)
		}
		log.want(t, "kept ensemble "+k.ID)
		check.OK(t, e.Down(t.Context()))
		if _, err := ensembles.Leader(t.Context(), k); err != nil {
			t.Error(err)
		}
	})
	t.Run("a kind that is named starts afresh", func(t *testing.T) {
		e, _ := start(t, ensembles.Options{Kind: ensembles.Process, Members: 1})
		if e.ID == k.ID {
			t.Error("the kept one was used")
		}
	})
	t.Run("one of another size is not used", func(t *testing.T) {
		e, log := start(t, ensembles.Options{Members: 2})
		if e.ID == k.ID || len(e.Members) != 2 {
			t.Errorf("got %s with %d members", e.ID, len(e.Members))
		}
		log.want(t, "its number of members is 1, not 2")
	})
	t.Run("a record is enough to ask the members how they are", func(t *testing.T) {
		records, err := state.List()
		if err != nil || len(records) != 1 {
			t.Fatalf("got %+v, %v", records, err)
		}
		status := ensembles.Status(t.Context(), records[0].Ensemble())
		if len(status) != 1 || !status[0].Serves() || status[0].Member.Addr != k.Members[0].Addr {
			t.Errorf("got %+v", status)
		}
	})
	t.Run("one that does not serve is not used", func(t *testing.T) {
		if err := k.Members[0].Machine.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		e, log := start(t, ensembles.Options{Members: 1})
		if e.ID == k.ID {
			t.Error("the dead one was used")
		}
		log.want(t, "is not used", "zkbench ensemble down")
	})
}

func TestStart_startsContainers(t *testing.T) {
	if err := container.Available(t.Context()); err != nil && tolerate(err) == nil {
		t.Skip("no Docker here:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	e, _ := start(t, ensembles.Options{Kind: ensembles.Container, Members: 1})
	if e.Kind != ensembles.Container || e.Members[0].ContainerID == "" {
		t.Errorf("got %+v", e)
	}
	records, err := state.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.ID == e.ID && r.Kind == ensembles.Container {
			return
		}
	}
	t.Errorf("%s is not listed in %+v", e.ID, records)
}

func TestChoose_takesTheKindThatOptionsName(t *testing.T) {
	servers := []string{"192.0.2.1:2181"}
	for _, test := range []struct {
		name    string
		options ensembles.Options
		want    ensembles.Kind
		wantErr string
	}{
		{"nothing is asked for", ensembles.Options{}, ensembles.Auto, ""},
		{"a kind is named", ensembles.Options{Kind: ensembles.Process}, ensembles.Process, ""},
		{"servers are somebody's ensemble", ensembles.Options{Servers: servers}, ensembles.External, ""},
		{"an image runs in containers", ensembles.Options{Image: "zookeeper:3.9"}, ensembles.Container, ""},
		{"a distribution runs in local JVMs", ensembles.Options{Home: "/opt/zookeeper"}, ensembles.Process, ""},
		{"servers and another kind", ensembles.Options{Kind: ensembles.Process, Servers: servers}, "", "servers can be set only for an ensemble of kind external, not process"},
		{"an image and another kind", ensembles.Options{Kind: ensembles.Process, Image: "x"}, "", "an image can be set only for"},
		{"servers and an image", ensembles.Options{Servers: servers, Image: "x"}, "", "container, not external"},
		{"servers and observers", ensembles.Options{Servers: servers, Observers: 1}, "", "srvr shows which members are observers"},
		{"a kind that is none", ensembles.Options{Kind: "cloud"}, "", `unknown kind of ensemble "cloud"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := choose(test.options)
			if got != test.want || (err != nil) != (test.wantErr != "") {
				t.Fatalf("got %q, %v", got, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("got %v, want %q in it", err, test.wantErr)
			}
		})
	}
}

func TestUnfit_saysWhy(t *testing.T) {
	r := state.Record{Members: make([]state.Member, 3), Tick: 2 * time.Second}
	for _, test := range []struct {
		name    string
		options ensembles.Options
		want    string
	}{
		{"defaults fit everything", ensembles.Options{}, ""},
		{"the same size and tick", ensembles.Options{Members: 3, Tick: 2 * time.Second}, ""},
		{"another size", ensembles.Options{Members: 5}, "its number of members is 3, not 5"},
		{"observers that it lacks", ensembles.Options{Members: 3, Observers: 2}, "its number of observers is 0, not 2"},
		{"another tick", ensembles.Options{Tick: time.Second}, "its tick is 2s, not 1s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := unfitReason(r, test.options); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	r.Members[2].Observer = true
	if got, want := unfitReason(r, ensembles.Options{Members: 3}), "its number of members is 2, not 3"; got != want {
		t.Errorf("where one of three is an observer: %q, want %q", got, want)
	}
	if got, want := unfitReason(r, ensembles.Options{}), "its number of observers is 1, not 0"; got != want {
		t.Errorf("where nobody asks for an observer: %q, want %q", got, want)
	}
}
