package history

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func order(t *testing.T, h *History) string {
	t.Helper()
	var out []string
	for n, err := range h.Records {
		switch r := n.Record.(type) {
		case *Commit:
			out = append(out, fmt.Sprintf("c%d", r.Zxid))
		case *CommitsEnd:
			out = append(out, "end")
		case *Sample:
			out = append(out, fmt.Sprintf("%d:z%d", n.N, r.Zxid))
		case nil:
			out = append(out, err.Error())
		default:
			out = append(out, fmt.Sprint(n.N))
		}
	}
	return strings.Join(out, " ")
}

func seen(zxid int64) *Sample { return &Sample{Op: Acquire, Outcome: OK, Zxid: zxid} }

func TestOf_yieldsEachCommitBeforeTheFirstWhoMayKnowOfIt(t *testing.T) {
	h := Of(Header{}, &PhaseStart{}, seen(3), seen(2), seen(0), seen(7),
		&Commit{Zxid: 1}, &Commit{Zxid: 3}, &Commit{Zxid: 3}, &Commit{Zxid: 4}, &Commit{Zxid: 9}, &CommitsEnd{})
	const want = "1 c1 c3 c3 2:z3 3:z2 4:z0 c4 5:z7 c9 end"
	for range 2 {
		if got := order(t, h); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if !h.HasCommits {
		t.Error("the history does not say that it has commits")
	}
}

// write makes a history of these records.
func write(t *testing.T, path string, records ...Record) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	w, err := Create(path, Header{Trial: "t"})
	must(t, err)
	for _, r := range records {
		if s, ok := r.(*Sample); ok {
			w.Sample(*s)
		} else {
			w.Record(r)
		}
	}
	must(t, w.Close())
}

func TestOpen_readsTheCommitsBesideTheHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history", "t.jsonl.zst")
	write(t, path, seen(5), seen(6))
	h, err := Open(path)
	if err != nil || h.HasCommits || order(t, h) != "1:z5 2:z6" {
		t.Errorf("without commits: %v, %v", h, err)
	}
	write(t, CommitsPath(path), &Commit{Zxid: 4, Op: CommitCreate, Path: "/l/n-1", Ephemeral: true}, &Commit{Zxid: 6, Op: CommitDelete, Path: "/l/n-1"}, &CommitsEnd{Last: 6})
	h, err = Open(path)
	if err != nil || !h.HasCommits || order(t, h) != "c4 1:z5 c6 2:z6 end" {
		t.Errorf("with commits: %s, %v", order(t, h), err)
	}
	h.Forget()
	for range 2 {
		if got := order(t, h); got != "c4 1:z5 c6 2:z6 end" {
			t.Errorf("decoded again: %s", got)
		}
	}
	raw, err := os.ReadFile(CommitsPath(path))
	must(t, err)
	must(t, os.WriteFile(CommitsPath(path), raw[:len(raw)-3], 0o644))
	if h, err = Open(path); err != nil || !strings.Contains(order(t, h), "the commits cannot be read") {
		t.Errorf("with commits that are cut short: %s, %v", order(t, h), err)
	}
}
