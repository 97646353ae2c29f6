package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/scenarios"
)

// serving starts l and returns what it says.
func serving(t *testing.T, l *live) (said string) {
	t.Helper()
	stop, err := l.serve(func(format string, args ...any) { said += fmt.Sprintf(format, args...) + "\n" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return said
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", url, r.Status, err)
	}
	return string(b)
}

// url is the first address in what was said that contains part.
func url(t *testing.T, said, part string) string {
	t.Helper()
	for _, word := range strings.Fields(said) {
		if strings.HasPrefix(word, "http://") && strings.Contains(word, part) {
			return word
		}
	}
	t.Fatalf("it does not say where: %q", said)
	return ""
}

func TestLive_metrics(t *testing.T) {
	l := &live{at: ":0"}
	said := serving(t, l)
	at := url(t, said, "/metrics")
	if !strings.HasPrefix(at, "http://127.0.0.1:") {
		t.Errorf("a port without a host is served to others: %s", at)
	}
	if before := get(t, at); !strings.Contains(before, `zkbench_trial{scenario=""} 0`) {
		t.Errorf("before the first trial:\n%s", before)
	}
	l.status("herd", scenarios.Status{Trial: 2, Trials: 4, Subject: "lock/parent", Clients: 10, Phase: "churn",
		Grants: 7, Left: time.Minute, Fault: "session.close on client 3", Backlog: 11})
	got := get(t, at)
	for _, want := range []string{
		`zkbench_trials{scenario="herd"} 4`,
		`zkbench_grants_total{clients="10",scenario="herd",subject="lock/parent",trial="2"} 7`,
		`zkbench_left_seconds{scenario="herd"} 60`,
		`zkbench_fault_in_force{clients="10",fault="session.close on client 3",scenario="herd",subject="lock/parent",trial="2"} 1`,
		`zkbench_phase{clients="10",phase="churn",scenario="herd",subject="lock/parent",trial="2"} 1`,
		`zkbench_recorder_backlog{clients="10",scenario="herd",subject="lock/parent",trial="2"} 11`,
		`zkbench_recorder_dropped_total{clients="10",scenario="herd",subject="lock/parent",trial="2"} 0`,
		`zkbench_bytes_total{clients="10",direction="in",scenario="herd",subject="lock/parent",trial="2"} 0`,
		"go_goroutines ",
	} {
		if !strings.Contains(got, want+"\n") && !strings.Contains(got, want) {
			t.Errorf("no %s in:\n%s", want, got)
		}
	}
}

// scrape returns every series of ours, by its name and labels as Prometheus writes them.
func scrape(t *testing.T, l *live) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	l.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	all := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		name, value, ok := cutLast(strings.TrimSpace(line), " ")
		if !ok || !strings.HasPrefix(line, "zkbench_") {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = v
	}
	return all
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// neverFalls fails the test for a counter that is lower than it was, or is gone.
func neverFalls(t *testing.T, before, now map[string]float64) {
	t.Helper()
	for name, was := range before {
		if is, ok := now[name]; strings.Contains(name, "_total{") && (!ok || is < was) {
			t.Errorf("%s goes from %v to %v", name, was, is)
		}
	}
}

// Two trials take turns, and what they tell comes in turns as well: each has series of
// its own, and no counter falls.
func TestLive_trialsBesideEachOther(t *testing.T) {
	l := &live{}
	pair := func(trial int, subject string, grants int64, over bool) scenarios.Status {
		return scenarios.Status{Trial: trial, Trials: 4, First: 1, Last: 2, Subject: subject, Beside: "lock/a beside lock/b", Clients: 10,
			Phase: "drain", Grants: grants, Over: over, Wire: wire.Counts{BytesIn: 1000 * grants}}
	}
	series := func(name string, trial int, subject string) string {
		return fmt.Sprintf(`zkbench_%s{clients="10",scenario="ci",subject="%s",trial="%d"}`, name, subject, trial)
	}
	before := scrape(t, l)
	for _, s := range []scenarios.Status{
		pair(1, "lock/a", 10, false), pair(2, "lock/b", 0, false), pair(1, "lock/a", 20, false), pair(2, "lock/b", 10, false),
		pair(1, "lock/a", 30, true), pair(2, "lock/b", 20, true),
		{Trial: 3, Trials: 4, First: 3, Last: 4, Subject: "lock/b", Clients: 10, Phase: "drain"},
	} {
		l.status("ci", s)
		now := scrape(t, l)
		neverFalls(t, before, now)
		if got := now[series("grants_total", s.Trial, s.Subject)]; got != float64(s.Grants) {
			t.Errorf("trial %d has %v grants, want %d", s.Trial, got, s.Grants)
		}
		before = now
		if got, want := now[`zkbench_trial{scenario="ci"}`], float64(max(2, s.Trial)); len(l.latest) > 1 && got != want {
			t.Errorf("the latest trial to have begun is %v, want %v", got, want)
		}
	}
	for series, want := range map[string]float64{
		series("grants_total", 1, "lock/a"): 30, series("grants_total", 2, "lock/b"): 20, series("grants_total", 3, "lock/b"): 0,
		`zkbench_trial{scenario="ci"}`: 3, `zkbench_trials{scenario="ci"}`: 4,
		`zkbench_bytes_total{clients="10",direction="in",scenario="ci",subject="lock/b",trial="2"}`: 20_000,
	} {
		if got, ok := before[series]; !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", series, got, ok, want)
		}
	}
}

func TestLive_aScenarioThatIsRunAgain(t *testing.T) {
	l := &live{}
	var before map[string]float64
	for round := range 3 {
		for trial := 1; trial <= 2; trial++ {
			for grants := range int64(3) {
				l.status("herd", scenarios.Status{Trial: trial, Trials: 2, Subject: "lock/a", Clients: 5, Grants: grants, Over: grants == 2})
				now := scrape(t, l)
				neverFalls(t, before, now)
				before = now
			}
		}
		name := `zkbench_grants_total{clients="5",scenario="herd",subject="lock/a",trial="2"}`
		if want := float64(2 * (round + 1)); before[name] != want {
			t.Errorf("after %d rounds it has %v grants, want %v", round+1, before[name], want)
		}
		if got := before[`zkbench_trial{scenario="herd"}`]; got != 2 {
			t.Errorf("the last trial is %v, want 2", got)
		}
	}
}

// A run of thousands of trials does not make a page of all of them.
func TestLive_forget(t *testing.T) {
	l := &live{}
	for n := 1; n <= 3*keep; n++ {
		l.status("long", scenarios.Status{Trial: n, Trials: 9999, Subject: "lock/a", Grants: int64(n), Over: n != 2})
	}
	var trials []string
	for name := range scrape(t, l) {
		if strings.HasPrefix(name, "zkbench_grants_total{") {
			trials = append(trials, name)
		}
	}
	if len(trials) != keep+1 {
		t.Errorf("%d trials are served, want the last %d and the one that still runs", len(trials), keep)
	}
	for _, n := range []int{2, 3 * keep} {
		if !slices.ContainsFunc(trials, func(name string) bool { return strings.Contains(name, fmt.Sprintf(`trial="%d"`, n)) }) {
			t.Errorf("trial %d is gone", n)
		}
	}
}

func TestLive_warmUp(t *testing.T) {
	l := &live{}
	l.status("ci", scenarios.Status{Trial: 1, Trials: 4, Subject: "lock/a", Clients: 10, Phase: "drain", Grants: 5, Left: time.Minute, Over: true})
	l.status("ci", scenarios.Status{Phase: "warm-up"}) // of the next ensemble
	now := scrape(t, l)
	for series, want := range map[string]float64{
		`zkbench_phase{clients="",phase="warm-up",scenario="ci",subject="",trial=""}`: 1,
		`zkbench_grants_total{clients="10",scenario="ci",subject="lock/a",trial="1"}`: 5,
		`zkbench_trials{scenario="ci"}`:                                               4,
	} {
		if got, ok := now[series]; !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", series, got, ok, want)
		}
	}
	if left, ok := now[`zkbench_left_seconds{scenario="ci"}`]; ok {
		t.Errorf("nothing runs, and %v s are left", left)
	}
}

func TestLive_anAddressThatIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	l := &live{at: taken.Addr().String()}
	if _, err := l.serve(t.Logf); err == nil || !strings.Contains(err.Error(), "--metrics "+l.at) {
		t.Errorf("want an error that names the flag, got %v", err)
	}
}

func TestLive_inANetworkOfItsOwn(t *testing.T) {
	if err := (&live{}).reachable(); err != nil {
		t.Errorf("without --metrics: %v", err)
	}
	if err := (&live{at: ":0"}).reachable(); codeOf(err) != exitUsage || !strings.Contains(err.Error(), "--ensemble container") {
		t.Errorf("%v, want an error that says what to do", err)
	}
}
