//go:build linux

package auto

import (
	"fmt"
	"path/filepath"
	"slices"
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
	check.Contains(t, strings.Join(l.lines, "\n"), texts...)
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

func TestStart_withoutDocker(t *testing.T) {
	withoutDocker(t)
	_, err := Sweep(t.Context(), false)
	check.OK(t, err)
	_, err = Start(t.Context(), ensembles.Options{Kind: ensembles.Container})
	check.Error(t, err, "--ensemble process")
	t.Setenv("PATH", "") // no Java
	t.Setenv("JAVA_HOME", "")
	_, err = Start(t.Context(), ensembles.Options{})
	check.Error(t, err, "no java found", "Docker socket")
}

func TestStart_usesAKeptEnsemble(t *testing.T) {
	withoutDocker(t)
	// Its owner is this process, which changes nothing for the one that attaches.
	k, err := process.Start(t.Context(), ensembles.Options{Members: 1, Keep: true, Logf: t.Logf})
	check.OK(t, err)
	check.Down(t, k)
	t.Run("a persistent ensemble that fits is used, and Down lets it be", func(t *testing.T) {
		e, log := start(t, ensembles.Options{})
		if e.ID != k.ID || e.Servers()[0] != k.Servers()[0] {
			t.Errorf("got %s, kept is %s", e.ID, k.ID)
		}
		log.want(t, "persistent ensemble "+k.ID)
		check.OK(t, e.Down(t.Context()))
		_, err := ensembles.Leader(t.Context(), k)
		check.OK(t, err)
	})
	t.Run("a kind that is named starts afresh", func(t *testing.T) {
		e, _ := start(t, ensembles.Options{Kind: ensembles.Process, Members: 1})
		if e.ID == k.ID {
			t.Error("the kept one was used")
		}
	})
	t.Run("one of another size is not used, but local JVMs", func(t *testing.T) {
		e, log := start(t, ensembles.Options{Members: 2})
		if e.ID == k.ID || len(e.Members) != 2 || e.Kind != ensembles.Process {
			t.Errorf("got %s with %d members of kind %s", e.ID, len(e.Members), e.Kind)
		}
		log.want(t, "its number of members is 1, not 2", "local JVMs instead of containers", "Docker socket")
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
		check.OK(t, k.Members[0].Machine.Kill(t.Context()))
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
	check.OK(t, err)
	if !slices.ContainsFunc(records, func(r state.Record) bool { return r.ID == e.ID && r.Kind == ensembles.Container }) {
		t.Errorf("%s is not listed in %+v", e.ID, records)
	}
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
			check.Error(t, err, test.wantErr)
			if got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestUnfit_saysWhy(t *testing.T) {
	three := state.Record{Members: make([]state.Member, 3), Tick: 2 * time.Second}
	observer := state.Record{Members: []state.Member{{}, {}, {Observer: true}}, Tick: 2 * time.Second}
	for _, test := range []struct {
		name    string
		record  state.Record
		options ensembles.Options
		want    string
	}{
		{"defaults fit everything", three, ensembles.Options{}, ""},
		{"the same size and tick", three, ensembles.Options{Members: 3, Tick: 2 * time.Second}, ""},
		{"another size", three, ensembles.Options{Members: 5}, "its number of members is 3, not 5"},
		{"observers that it lacks", three, ensembles.Options{Members: 3, Observers: 2}, "its number of observers is 0, not 2"},
		{"another tick", three, ensembles.Options{Tick: time.Second}, "its tick is 2s, not 1s"},
		{"one of three is an observer", observer, ensembles.Options{Members: 3}, "its number of members is 2, not 3"},
		{"an observer that is not wanted", observer, ensembles.Options{}, "its number of observers is 1, not 0"},
	} {
		if got := unfitReason(test.record, test.options); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
