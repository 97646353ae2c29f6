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

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestStart_saysWhyThereIsNoQuorum(t *testing.T) {
	p := planned(t, docker(t), ensembles.Options{})
	p.direct = true
	check.OK(t, p.makeNetwork(t.Context()))
	// The configuration names all three.
	check.OK(t, p.runMember(t.Context(), p.Members[0]))
	alone := *p.Record
	alone.Members = alone.Members[:1]
	e := assemble(p.docker, &alone)
	check.Eventually(t, "the member answers that it has no quorum", func() bool {
		err := ensembles.Status(t.Context(), e)[0].Err
		return err != nil && strings.Contains(err.Error(), "not currently serving")
	})
	check.Eventually(t, "the member misses another", func() bool {
		dir := t.TempDir()
		check.OK(t, e.Members[0].Machine.Save(t.Context(), dir))
		log, err := os.ReadFile(filepath.Join(dir, "zk1.log"))
		check.OK(t, err)
		return strings.Contains(string(log), "Cannot open channel to 2")
	})
	err := ensembles.WaitServing(check.Within(t, 2*time.Second), e)
	check.Error(t, err, "zk1 not serving (", "is not currently serving requests", "    | ", "Cannot open channel to 2")
}

// Where containers cannot be dialled, clients use ports on this machine.
func TestStart_publishesPorts(t *testing.T) {
	e, err := planned(t, docker(t), ensembles.Options{Members: 1}).start(t.Context())
	check.OK(t, err)
	m := e.Members[0]
	if !strings.HasPrefix(m.Addr, "127.0.0.1:") {
		t.Fatalf("clients are to dial %s", m.Addr)
	}
	check.OK(t, m.Machine.Kill(t.Context()))
	check.OK(t, m.Machine.Start(t.Context()))
	check.OK(t, ensembles.WaitServing(check.Within(t, 30*time.Second), &ensembles.Ensemble{Members: []*ensembles.Member{m}}))
}

func TestStart_refusesWhatCannotBe(t *testing.T) {
	_, err := Start(t.Context(), ensembles.Options{Members: 30})
	check.Error(t, err, "between 1 and 29")
	needDocker(t)
	_, err = Start(t.Context(), ensembles.Options{Image: "127.0.0.1:1/zkbench/none:1"})
	check.Error(t, err, "127.0.0.1:1/zkbench/none:1 is not on this machine and cannot be pulled")
}

func TestStart_leavesNothingWhenCancelled(t *testing.T) {
	d := docker(t)
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	e, err := Start(ctx, ensembles.Options{Logf: t.Logf})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("started %v: %v", e, err)
	}
	all, err := find(context.WithoutCancel(t.Context()), d, "")
	check.OK(t, err)
	for _, f := range all {
		if f.labels[labelOwner] == state.Self().String() {
			t.Errorf("ensemble %s is left", f.id)
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
		check.OK(b, e.Down(b.Context()))
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "median-s")
	b.ReportMetric(took[len(took)-1].Seconds(), "max-s")
}
