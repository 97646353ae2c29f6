package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"zkbench/scenarios"
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
	l := &live{metrics: ":0", pprof: "127.0.0.1:0"}
	said := serving(t, l)
	at := url(t, said, "/metrics")
	if !strings.HasPrefix(at, "http://127.0.0.1:") {
		t.Errorf("a port without a host is served to others: %s", at)
	}
	if before := get(t, at); !strings.Contains(before, `zkbench_trial{scenario=""} 0`) {
		t.Errorf("before the first trial:\n%s", before)
	}
	l.status("herd", scenarios.Status{Trial: 2, Trials: 4, Subject: "lock/parent", Clients: 10, Phase: "churn",
		Grants: 7, Rate: 2.5, Left: time.Minute, Fault: "session.close on client 3", Backlog: 11})
	got := get(t, at)
	for _, want := range []string{
		`zkbench_trials{scenario="herd"} 4`,
		`zkbench_grants_total{clients="10",scenario="herd",subject="lock/parent",trial="2"} 7`,
		`zkbench_grants_per_second{clients="10",scenario="herd",subject="lock/parent",trial="2"} 2.5`,
		`zkbench_left_seconds{scenario="herd"} 60`,
		`zkbench_fault_in_force{fault="session.close on client 3",scenario="herd"} 1`,
		`zkbench_phase{phase="churn",scenario="herd"} 1`,
		`zkbench_recorder_backlog{scenario="herd"} 11`,
		`zkbench_recorder_dropped_total{clients="10",scenario="herd",subject="lock/parent",trial="2"} 0`,
		`zkbench_bytes_total{clients="10",direction="in",scenario="herd",subject="lock/parent",trial="2"} 0`,
		"go_goroutines ",
	} {
		if !strings.Contains(got, want+"\n") && !strings.Contains(got, want) {
			t.Errorf("no %s in:\n%s", want, got)
		}
	}
	if profile := get(t, url(t, said, "/debug/pprof/")); !strings.Contains(profile, "goroutine") {
		t.Errorf("no profiles: %s", profile)
	}
}

func TestLive_oneAddressForBoth(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	said := serving(t, &live{metrics: addr, pprof: addr})
	get(t, url(t, said, "/metrics"))
	get(t, url(t, said, "/debug/pprof/"))
}

func TestLive_anAddressThatIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	l := &live{metrics: taken.Addr().String()}
	if _, err := l.serve(t.Logf); err == nil || !strings.Contains(err.Error(), "--metrics "+l.metrics) {
		t.Errorf("want an error that names the flag, got %v", err)
	}
}
