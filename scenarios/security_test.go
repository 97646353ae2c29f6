package scenarios

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/observer"
)

// The members ask for a certificate, and serve nobody who has not authenticated: whatever
// is dialled without the one or asks without the other is refused.
func TestRun_onASecuredEnsemble(t *testing.T) {
	t.Parallel()
	e := startEnsemble(t, ensembles.Options{Members: 1, Tick: 500 * time.Millisecond, Secure: []string{"tls", "digest"}})
	ownedByUs(t, e)
	play := func(text string) []string {
		r := newRunner(t)
		r.ensemble = e
		return r.play(t, "name: secured\nclients: [3]\nsession_timeout: 4s\n"+text)
	}
	trials := 0
	for _, cells := range []string{
		`subjects: [lock/predecessor, ` + asDriver("lock/driven", "lock/predecessor") + `]
phases:
  - {name: churn, kind: churn, duration: 4s, hold: 50ms, faults: [{at: 500ms, fault: session.close, target: holder}]}`,
		`subjects: [lock/parent, election/parent, election/predecessor, lock/go-zookeeper]
phases:
  - {name: drain, kind: drain, rounds: 2, hold: 1ms}
  - {name: close, kind: succession, rounds: 1, leave: close, order: [0], hold: 1ms}`,
		`subjects: [queue/parent, queue/predecessor]
phases: [{name: drain, kind: drain, rounds: 2, hold: 1ms}]`,
	} {
		for _, trial := range trialsOf(t, play(cells)) {
			sound(t, trial)
			trials++
		}
	}
	if trials != 8 {
		t.Errorf("%d trials, want 8", trials)
	}
	// A driver that cannot authenticate is told so.
	mute := play("subjects: [" + asDriver("lock/mute", "minimal") + "]\nphases: [{name: churn, kind: churn, duration: 2s}]")
	if why := failureOf(t, mute[0]); !strings.Contains(why, "list auth in the ops") {
		t.Errorf("got %s", why)
	}
}

// ownedByUs fails the test where others may touch a node of the harness.
func ownedByUs(t *testing.T, e *ensembles.Ensemble) {
	t.Helper()
	o := observer.NewObserver(e, 4*time.Second, "/zkbench-owned")
	must(t, o.Open(t.Context(), o.Root+"/line"))
	defer func() { must(t, o.Close()) }()
	connect := func() *zk.Conn {
		conn, _, err := zk.Connect(e.Servers(), 10*time.Second, quiet, zk.WithDialer(observer.HarnessOptions(e, 0).Dial))
		must(t, err)
		t.Cleanup(conn.Close)
		return conn
	}
	if _, _, err := connect().Children("/"); err == nil {
		t.Error("a connection that has not authenticated is served")
	}
	conn := connect()
	must(t, conn.AddAuth("digest", []byte(e.Security.Digest)))
	acl, _, err := conn.GetACL(o.Root)
	digest := slices.ContainsFunc(acl, func(a zk.ACL) bool { return a.Scheme == "digest" })
	if world := slices.ContainsFunc(acl, func(a zk.ACL) bool { return a.Scheme == "world" }); err != nil || world || !digest {
		t.Errorf("%s may be touched by %v, %v", o.Root, acl, err)
	}
}

// Another part of the tree may be ours although we may not make it.
func TestMakePath_belowWhatWeMayNotTouch(t *testing.T) {
	s, err := recipes.Open(t.Context(), ensemble.Servers(), recipes.Options{Auth: []recipes.Auth{{Scheme: "digest", Auth: "me:secret"}}})
	must(t, err)
	defer s.Close()
	conn, _, err := zk.Connect(ensemble.Servers(), 10*time.Second, zk.WithLogInfo(false))
	must(t, err)
	defer conn.Close()
	must(t, conn.AddAuth("digest", []byte("owner:secret")))
	ours, theirs := zk.DigestACL(zk.PermAll, "me", "secret"), zk.DigestACL(zk.PermAll, "owner", "secret")
	theirs = append(theirs, zk.WorldACL(zk.PermRead)...)
	for _, path := range []string{"/theirs", "/theirs/ours"} {
		_, err = conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
		must(t, err)
	}
	for path, acl := range map[string][]zk.ACL{"/theirs": theirs, "/theirs/ours": ours} {
		_, err = conn.SetACL(path, acl, -1)
		must(t, err)
	}
	must(t, s.MakePath(t.Context(), "/theirs/ours/trial"))
	if err := s.MakePath(t.Context(), "/theirs/other"); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("got %v", err)
	}
}

func TestFence_refusesTokensThatAreNoUse(t *testing.T) {
	for _, row := range []struct {
		about  string
		writes [][2]int64 // token and grant
		want   error      // of the last
	}{
		{"tokens that rise", [][2]int64{{3, 1}, {5, 2}}, nil},
		{"one holder that writes again", [][2]int64{{3, 1}, {3, 1}}, nil},
		{"a token that goes down", [][2]int64{{5, 1}, {3, 2}}, observer.ErrHigher},
		{"a token that is handed out twice", [][2]int64{{3, 1}, {3, 2}}, observer.ErrTwice},
	} {
		t.Run(row.about, func(t *testing.T) {
			o := observer.NewObserver(ensemble, 4*time.Second, "/"+t.Name())
			defer func() { must(t, o.Close()) }()
			must(t, o.Open(t.Context(), o.Root+"/line"))
			f := &observer.Fence{Observer: o, Path: o.Root + "/resource"}
			must(t, f.Open(t.Context()))
			last := len(row.writes) - 1
			for _, w := range row.writes[:last] {
				_, err := f.Write(t.Context(), w[0], w[1])
				must(t, err)
			}
			if _, err := f.Write(t.Context(), row.writes[last][0], row.writes[last][1]); !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
		})
	}
}
