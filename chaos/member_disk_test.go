package chaos

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
)

// breakable returns three members whose disks can have faults, with one client, and a function that commits a
// transaction and returns how long that took.
func breakable(t *testing.T) (*clients, func() time.Duration) {
	t.Helper()
	if err := process.CheckDisks(); err != nil {
		t.Skip(err)
	}
	l := connect(t, Target{Ensemble: ensemble(t, ensembles.Options{Tick: tick, Disks: true})}, 1, 10*time.Second)
	return l, func() time.Duration {
		begin := time.Now()
		for {
			_, err := l.conns[0].Create("/disk-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
			if err == nil {
				return time.Since(begin)
			}
			if t.Context().Err() != nil || !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrNoServer) {
				t.Error(err)
				return 0
			}
		}
	}
}

// whileCommitting calls do while transactions are committed.
func whileCommitting(commit func() time.Duration, do func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			commit()
		}
	})
	defer all.Wait()
	defer cancel()
	do()
}

func TestDiskSlow_delaysCommitsIfAMajorityIsSlow(t *testing.T) {
	l, commit := breakable(t)
	const delay = 3 * time.Second
	slow := func(target string) (e Effect) {
		whileCommitting(commit, func() { e = inject(t, parse(t, "disk.slow", target, "delay", delay.String()), l.Target) })
		return e
	}
	e := slow(Majority)
	if strings.Count(e.Target, "zk") != 2 || !strings.Contains(e.Proof, "took 3") {
		t.Errorf("target %s, proof %s", e.Target, e.Proof)
	}
	if took := commit(); took < delay {
		t.Errorf("a commit took %v", took)
	}
	if _, err := parse(t, "disk.fail", hit(t, l.Target, e).Name).Inject(t.Context(), l.Target); err == nil {
		t.Error("a second fault of the same disk was accepted")
	}
	heal(t, l.Target, e)
	if took := commit(); took >= delay {
		t.Errorf("healed, a commit took %v", took)
	}
	e = slow(Leader) // the followers are a quorum
	if took := commit(); took >= delay {
		t.Errorf("with only a slow leader, a commit took %v", took)
	}
	heal(t, l.Target, e)
}

func TestDiskSlow_isUnprovenWithoutCommits(t *testing.T) {
	l, commit := breakable(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := parse(t, "disk.slow", Majority).Inject(ctx, l.Target); !errors.Is(err, ErrNoEffect) || errors.Is(err, ErrNotHealed) {
		t.Errorf("got %v", err)
	}
	for _, m := range l.Ensemble.Members {
		heal, hits, err := m.Disk.Break(0)
		if err != nil || hits() > 0 {
			t.Errorf("%s still has the fault: %v", m.Name, err)
			continue
		}
		heal()
	}
	commit()
}

func TestDiskFail_takesAMemberOutOfTheQuorum(t *testing.T) {
	l, commit := breakable(t)
	for _, target := range []string{Follower, Leader} {
		var e Effect
		whileCommitting(commit, func() { e = inject(t, parse(t, "disk.fail", target), l.Target) })
		if !strings.Contains(e.Proof, "EIO") || !strings.Contains(e.Proof, "stopped serving") {
			t.Errorf("proof %s", e.Proof)
		}
		commit() // the others continue
		m := hit(t, l.Target, e)
		heal(t, l.Target, e)
		log, err := m.Machine.RecentLog(t.Context())
		must(t, err)
		failures := func(log []byte) int { return bytes.Count(log, []byte("Severe unrecoverable error")) }
		if failures(log) == 0 {
			t.Errorf("%s reported no error of its disk", m.Name)
		}
		commit()
		if after, err := m.Machine.RecentLog(t.Context()); err != nil || failures(after) != failures(log) {
			t.Errorf("the healed disk of %s failed, or %v", m.Name, err)
		}
	}
}

func TestDiskFaults_areRefusedWithTheReason(t *testing.T) {
	target := shared(t) // its disks are ordinary
	for _, name := range []string{"disk.slow", "disk.fail"} {
		_, err := parse(t, name, Leader).Inject(t.Context(), target)
		checked := CheckEnsemble(t.Context(), name, target)
		if !errors.Is(err, ErrSkipped) || !errors.Is(checked, ErrSkipped) || !strings.Contains(checked.Error(), "FUSE") && !strings.Contains(checked.Error(), "--ensemble process") {
			t.Errorf("%s: %v; %v", name, err, checked)
		}
	}
	if _, err := Parse("disk.slow", Leader, map[string]string{"delay": "0s"}); err == nil {
		t.Error("a delay of 0 was accepted")
	}
	if TouchesDisks("link.delay") || !TouchesDisks("disk.slow") || !TouchesDisks("disk.fail") {
		t.Error("wrong faults need disks")
	}
}
