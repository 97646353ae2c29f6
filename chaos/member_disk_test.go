package chaos

import (
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
	commit()
	for _, m := range l.Ensemble.Members {
		if n, _ := m.Disk.Hits(); n > 0 {
			t.Errorf("the disk of %s is still slow", m.Name)
		}
	}
}

func TestDiskFail_takesAMemberOutOfTheQuorum(t *testing.T) {
	l, commit := breakable(t)
	for _, target := range []string{Follower, Leader} {
		var e Effect
		whileCommitting(commit, func() { e = inject(t, parse(t, "disk.fail", target), l.Target) })
		if !strings.Contains(e.Proof, "EIO") {
			t.Errorf("proof %s", e.Proof)
		}
		commit() // the others continue
		m := hit(t, l.Target, e)
		heal(t, l.Target, e)
		n, _ := m.Disk.Hits()
		commit()
		if after, _ := m.Disk.Hits(); after != n {
			t.Errorf("the healed disk of %s failed", m.Name)
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

func TestLogAfter_returnsTheNewPart(t *testing.T) {
	long := strings.Repeat("old line\n", 100) + "12:00 last\n"
	for before, want := range map[string]string{"": long + "new\n", long: "new\n", "12:00 last\n": "new\n", "of another file\n": long + "new\n"} {
		if got := string(logAfter([]byte(long+"new\n"), []byte(before))); got != want {
			t.Errorf("after %.20q: %q", before, got)
		}
	}
}
