package draw

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runFolder writes the histories of an invented run and concludes them: each
// subject with 5 and 20 clients that hold in turn; with faults, a session is
// closed in every trial and one holder overstays; in an overlap nothing explains that.
func runFolder(t *testing.T, scenarios ...string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, report.HistoryDir), 0o755))
	for _, scenario := range scenarios {
		for _, subject := range []string{"lock/parent", "lock/predecessor"} {
			for _, clients := range []int{5, 20} {
				writeHistory(t, dir, scenario, subject, clients)
			}
		}
	}
	run := report.Run{ID: "r1", Scenario: strings.Join(scenarios, " "), Command: "zkbench run herd --seed 7", Seed: 7,
		Start: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), Ensemble: report.Ensemble{Kind: "process", Members: 3}}
	if _, err := report.Conclude(dir, run); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeHistory(t *testing.T, dir, scenario, subject string, clients int) {
	t.Helper()
	name := fmt.Sprintf("%s-%s-%d", scenario, strings.ReplaceAll(subject, "/", "-"), clients)
	w, err := history.Create(report.HistoryPath(dir, name), history.Header{Trial: name, Seed: 7,
		Cell: history.Cell{Scenario: scenario, Subject: subject, Clients: clients, Params: map[string]string{"hold": "20ms"}}})
	must(t, err)
	r := rand.New(rand.NewPCG(7, uint64(clients)))
	cost := 0.7e6
	if subject == "lock/parent" {
		cost *= math.Sqrt(float64(clients))
	}
	for c := range clients {
		w.Record(&history.Session{Event: history.Opened, Client: c, Session: int64(100 + c), Timeout: 10 * time.Second})
	}
	now := time.Second
	lost := -1
	for i := range clients * 6 {
		c := i % clients
		session := int64(100 + c)
		if c == lost {
			session += 1000 // the old one is dead for good
		}
		granted := now + time.Duration(cost*math.Exp(r.NormFloat64()*0.4))
		released := granted + 20*time.Millisecond
		if scenario == "failover" && i == clients*3 {
			w.Record(&history.Window{Fault: "session.close", Target: fmt.Sprintf("client %d (holder)", c), Client: c, Start: granted + time.Millisecond,
				End: granted + 2*time.Millisecond, Proof: "the server no longer knows the session id"})
			w.Record(&history.Session{Event: history.Lost, Client: c, Session: int64(100 + c), At: granted + 9*time.Millisecond})
			released = granted + 9*time.Millisecond
			lost = c
			w.Record(&history.Session{Event: history.Opened, Client: c, Session: int64(1100 + c), Timeout: 10 * time.Second, At: granted + 10*time.Millisecond})
		}
		s := history.Sample{Client: c, Phase: "churn", Op: history.Acquire, Due: now - 15*time.Millisecond, Call: now - 15*time.Millisecond, Return: granted,
			Outcome: history.OK, Token: int64(1000 + i), Session: session, Path: fmt.Sprintf("/n%d", i)}
		w.Sample(s)
		write := s
		write.Op, write.Version, write.Due, write.Call, write.Return = history.Write, int64(i+1), granted, granted, granted+300*time.Microsecond
		w.Sample(write)
		s.Op, s.Due, s.Call, s.Return = history.Release, released, released, released+time.Millisecond
		w.Sample(s)
		now = released
		if scenario != "herd" && i == clients*3 {
			now -= 5 * time.Millisecond // the next is let in before this one lets go: after a fault exposure
		}
	}
	n := int64(clients - 1)
	if scenario != "failover" { // beside faults nothing is counted
		woken := n * int64(clients) / 2
		w.Record(&history.Traffic{At: now, Of: history.OfHandoff, Count: n, Notifications: woken, ExpectedNotifications: &woken})
	}
	must(t, w.Close())
}

// sums hashes every file below dir.
func sums(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	out := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir+"/")] = sha256.Sum256(b)
		return err
	})
	must(t, err)
	return out
}

func TestFolder_drawnAgainIsTheSame(t *testing.T) {
	dir := runFolder(t, "failover")
	again(t, dir)
	first := sums(t, dir)
	for _, name := range []string{
		"report.html", "summary.md", "junit.xml", "bench.txt", "plots/handoff-by-clients.svg",
		"plots/handoff-percentiles-20.png", "plots/handoff-percentiles-5.svg", "plots/handoff-by-clients.csv",
		"plots/latency-failover-lock-parent-20.svg",
	} {
		if _, ok := first[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	stale := filepath.Join(dir, report.PlotDir, "former.svg")
	must(t, os.WriteFile(stale, []byte("x"), 0o644))
	again(t, dir)
	again := sums(t, dir)
	if len(again) != len(first) {
		t.Errorf("drawn again there are %d files, not %d", len(again), len(first))
	}
	for name, sum := range first {
		if again[name] != sum {
			t.Errorf("%s differs when it is drawn again", name)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, report.PageFile))
	must(t, err)
	if !bytes.Contains(page, []byte(`"overlaps":[[`)) {
		t.Error("the timeline shows no exposure, although a victim was told late")
	}
	if look := os.Getenv("ZKBENCH_LOOK"); look != "" { // to look at it
		to, err := os.MkdirTemp(look, "run-")
		must(t, err)
		must(t, os.CopyFS(to, os.DirFS(dir)))
	}
}

func TestFolder_scenariosDoNotOverwriteEachOther(t *testing.T) {
	dir := runFolder(t, "failover", "herd")
	again(t, dir)
	for _, name := range []string{"failover-handoff-by-clients.svg", "herd-handoff-by-clients.svg", "latency-herd-lock-parent-5.svg"} {
		if _, err := os.Stat(filepath.Join(dir, report.PlotDir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestFolder_damagedHistories(t *testing.T) {
	dir := runFolder(t, "herd")
	cut, gone := report.HistoryPath(dir, "herd-lock-parent-20"), report.HistoryPath(dir, "herd-lock-parent-5")
	info, err := os.Stat(cut)
	must(t, err)
	must(t, os.Truncate(cut, info.Size()*2/3))
	must(t, os.Remove(gone))
	again(t, dir) // a damaged history costs its own plots, not the report
	got := sums(t, dir)
	if _, ok := got["plots/latency-herd-lock-predecessor-5.svg"]; !ok {
		t.Error("the plots of a whole history are missing")
	}
	if _, ok := got["plots/latency-herd-lock-parent-5.svg"]; ok {
		t.Error("a plot was drawn of a history that is gone")
	}
}

// again draws a folder as zkbench report does.
func again(t *testing.T, dir string) {
	t.Helper()
	run, err := report.ReadRun(dir)
	must(t, err)
	c, err := report.Conclude(dir, run)
	must(t, err)
	_, err = Folder(dir, c)
	must(t, err)
}
