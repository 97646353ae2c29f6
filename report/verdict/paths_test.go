package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

// ofPaths is the header of a trial of a lock with several paths.
func ofPaths(paths int) history.Header {
	return history.Header{Trial: "story", Paths: paths, Recipe: Lock, Cell: history.Cell{Subject: "lock/mine", Clients: 4 * paths},
		Promises: history.Promises{Exclusive: true, FIFO: true, Events: true}}
}

func TestPaths_eachIsALockOfItsOwn(t *testing.T) {
	const phase = "phase churn 0 100; opened 1 101; opened 2 102; opened 3 103; opened 8 108; opened 4 104; opened 9 109; opened 13 113; " +
		"hold 5 50 1 2; hold 5 52 3 4; hold 6 60 1 2; hold 7 70 1 2; hold 7 72 3 4; hold 13 1 1 2; hold 14 40 1 2; hold 14 42 3 4; "
	judgePromised(t, MutualExclusion, ofPaths(5), []row{
		{"holders on different paths", phase + "hold 1 5 10 20; hold 2 6 12 22; hold 3 7 13 30; hold 4 8 14 40", Pass, ""},
		{"two holders on path 3", phase + "hold 1 5 10 20; hold 2 6 12 22; hold 3 7 13 30; hold 8 9 20 40", Fail,
			"path 3: clients 3 (token 7) and 8 (token 9) both believed"},
		{"one of five", phase + "hold 1 5 10 20; hold 3 7 13 30; hold 8 9 20 40", Fail, "(1 of 5 paths)"},
		{"two holders on two paths", phase + "hold 3 7 13 30; hold 8 9 20 40; hold 4 1 13 30; hold 9 2 20 40", Fail, "(2 of 5 paths)"},
		{"the other path", phase + "hold 3 7 13 30; hold 8 9 20 40; hold 4 1 13 30; hold 9 2 20 40", Fail, "\npath 4: clients 4 (token 1) and 9"},
		{"three on one path", phase + "hold 3 7 13 30; hold 8 9 20 40; hold 13 10 35 50", Fail, "\npath 3: clients 8 (token 9) and 13"},
	})
	judgePromised(t, Fencing, ofPaths(5), []row{
		{"tokens increase on each path", phase + "hold 1 61 10 20; hold 3 7 13 30; hold 3 8 40 50; hold 1 62 60 70", Pass, "path 0: the tokens of 2 grants"},
		{"but not on path 3", phase + "hold 1 61 10 20; hold 3 8 13 30; hold 8 7 40 50; hold 1 62 60 70", Fail, "path 3: "},
	})
	// A fault hides a wait only on its own path: here all clients of path 1 wait for far too long.
	judgePromised(t, Progress, ofPaths(5), []row{
		{"a client's fault is of its path", "phase churn 0 60000; opened 1 101; opened 6 106; opened 2 102; fault session.freeze 2 1 59000;" +
			"hold 2 5 10 59500; hold 1 6 10 20; acquire 6 0 30 60000 failed", Fail, "path 1: "},
		{"or of all", "phase churn 0 60000; opened 1 101; opened 6 106; opened 2 102; cut-off 2 1 59000;" +
			"hold 2 5 10 59500; hold 1 6 10 20; acquire 6 0 30 60000 failed", Unknown, ""},
	})
}

func TestPaths_everyRecordIsEvidenceByItsNumber(t *testing.T) {
	h := story(t, "opened 3 103; opened 8 108; opened 1 101; hold 1 5 10 20; hold 3 7 13 30; hold 8 9 20 40")
	h.Header = ofPaths(5)
	v := verdictOf(h, MutualExclusion)
	if !slices.Equal(v.Records, []int{6, 7, 8}) || !slices.Equal(v.First, []int{6, 7, 8}) {
		t.Errorf("records %v and %v, want the holds on path 3", v.Records, v.First)
	}
	for _, v := range Judge(h) {
		if v.Guarantee != MutualExclusion && strings.Contains(strings.Join(v.Reasons, ""), "path 3: clients") || v.Guarantee == Readable {
			t.Errorf("%s: %v", v.Guarantee, v.Reasons)
		}
	}
	if verdictOf(h, Completed).Result != Pass {
		t.Error("the trial itself was not checked")
	}
}

func TestMergePaths_theWorstDecides(t *testing.T) {
	fails := Verdict{Result: Fail, Reasons: []string{"two held", "again"}, Records: []int{9, 4}, First: []int{9}}
	for _, row := range []struct {
		name string
		all  []Verdict
		want string
	}{
		{"a failure before all", []Verdict{pass("fine"), unknown("dark"), fails, notJudged()}, "fail: path 2: two held (1 of 4 paths); path 2: again"},
		{"of several, the first reason", []Verdict{fails, pass(), fails}, "fail: path 0: two held (2 of 3 paths); path 0: again; path 2: two held"},
		{"unknown before pass", []Verdict{pass("fine"), unknown("dark")}, "unknown: path 1: dark (1 of 2 paths)"},
		{"pass before not exercised", []Verdict{notJudged("idle"), pass("3 grants"), pass("4 grants")}, "pass: path 1: 3 grants (2 of 3 paths)"},
		{"the same of all", []Verdict{notJudged("idle"), notJudged("idle")}, "not exercised: path 0: idle (2 of 2 paths)"},
	} {
		v := mergePaths(row.all)
		if got := v.Result + ": " + strings.Join(v.Reasons, "; "); got != row.want {
			t.Errorf("%s: %s\nwant %s", row.name, got, row.want)
		}
		if v.Result == Fail && (!slices.Contains(v.Records, 9) || !slices.Equal(v.First, []int{9})) {
			t.Errorf("%s: records %v and %v", row.name, v.Records, v.First)
		}
	}
	many := mergePaths(slices.Repeat([]Verdict{fails}, 100))
	if len(many.Reasons) != namedPaths+1 || !strings.HasSuffix(many.Reasons[0], "(100 of 100 paths)") {
		t.Errorf("of 100 paths: %q", many.Reasons)
	}
}

// The removed nodes that are kept are shared by the paths: many paths need no more memory than one.
func TestPaths_shareTheLimitOfRemovedNodes(t *testing.T) {
	const paths, nodes = 16, 40_000
	h := history.Of(ofPaths(paths), &history.CommitsEnd{})
	h.Header = ofPaths(paths)
	s := NewSweep(h)
	for i := range nodes {
		node := history.PathNode("/r/line", i%paths) + "/n-" + strings.Repeat("0", 9) + string(rune('0'+i/paths%10))
		s.Add(history.Numbered{Record: &history.Commit{Zxid: int64(2*i + 1), Session: int64(i%paths + 1), Op: history.CommitCreate, Path: node, Ephemeral: true}})
		s.Add(history.Numbered{Record: &history.Commit{Zxid: int64(2*i + 2), Session: int64(i%paths + 1), Op: history.CommitDelete, Path: node}})
	}
	kept := 0
	for _, path := range s.paths {
		for _, d := range path.commits.Dirs {
			kept += len(d.Removed)
		}
	}
	if kept == 0 || kept > 2*4096 {
		t.Errorf("%d removed nodes are kept, want at most as many as for one path", kept)
	}
}
