package history

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestOpen_readsAHistoryAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.jsonl.zst")
	records := []Record{&PhaseStart{At: 1, Name: "churn", Kind: "churn", Pace: ByClients},
		&Session{At: 2, Event: Opened, Client: 1, Session: 7, Timeout: 4e9}}
	const samples = 10_000
	for i := range samples {
		s := sample(i%50, int64(i+1))
		records = append(records, &s)
		if i == 10 || i == samples-10 {
			records = append(records, &Window{Fault: "session.close", Client: 1, Start: 5, End: 6, Proof: "seen"})
		}
	}
	write(t, path, append(records, &PhaseEnd{At: 9, Name: "churn"})...)
	h, err := Open(path)
	must(t, err)
	if len(h.Faults) != 2 || len(h.Phases) != 1 || h.Phases[0].End != 9 || h.Timeout != 4e9 {
		t.Errorf("known beforehand: faults %v, phases %v, timeout %v", h.Faults, h.Phases, h.Timeout)
	}
	for range 2 {
		want, faults := 0, 0
		for n, err := range h.Records {
			must(t, err)
			want++
			if n.N != want || n.Record == nil {
				t.Fatalf("record %d is numbered %d: %v", want, n.N, n.Record)
			}
			if _, is := n.Record.(*Window); is {
				faults++
			}
			if s, is := n.Record.(*Sample); is && n.N == 100 && !reflect.DeepEqual(*s, sample(46, 97)) {
				t.Errorf("record 100 is %+v", s)
			}
		}
		if want != samples+5 || faults != 2 {
			t.Errorf("%d records, %d faults, want %d and 2", want, faults, samples+5)
		}
	}
}

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
