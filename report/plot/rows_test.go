package plot

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
)

// sampleFailovers is failovers of three causes: one round of them took too long, one
// never ended, and in one the holder held on.
func sampleFailovers() Timeline {
	d := Timeline{Trial: "failover-lock-predecessor-3", Label: "lock/predecessor", Clients: 3, Promise: 7 * time.Second, Trace: &report.Trace{}}
	round := func(phase string, n int, f metrics.Failover) {
		f.Phase, f.Round, f.At = phase, n, time.Duration(len(d.Failovers))*10*time.Second
		d.Failovers = append(d.Failovers, f)
	}
	for i := range 4 {
		round("release", i+1, metrics.Failover{Latency: time.Duration(5+i) * time.Millisecond, Most: 500 * time.Millisecond})
	}
	for i := range 6 {
		detect, expire := time.Duration(2700+200*i)*time.Millisecond, time.Duration(1900-250*i)*time.Millisecond
		f := metrics.Failover{Least: detect, Most: 7500 * time.Millisecond, Mean: 4833 * time.Millisecond, Stages: map[string]time.Duration{
			metrics.FailoverDetect: detect, metrics.FailoverExpire: expire, metrics.FailoverCommit: 30 * time.Millisecond,
			metrics.FailoverNotify: 2 * time.Millisecond, metrics.FailoverRelist: time.Millisecond,
		}}
		if i == 5 {
			f.Stages[metrics.FailoverExpire] = 4 * time.Second
		}
		for _, s := range f.Stages {
			f.Latency += s
		}
		round("crash", i+1, f)
	}
	round("leader-kill", 1, metrics.Failover{Latency: 600 * time.Millisecond, Most: 10 * time.Second, Kept: true})
	round("leader-kill", 2, metrics.Failover{Most: 10 * time.Second, Never: true})
	return d
}

func TestFailovers_saysWhatBecameOfEach(t *testing.T) {
	if got, want := legendText(Failovers(sampleFailovers())), "predicted; predicted mean; handed off (9); kept by the holder (1); outside the predicted range (1); promise: 7.00 s"; got != want {
		t.Errorf("the legend says %q, want %q", got, want)
	}
	if Failovers(Timeline{Trace: &report.Trace{}}) != nil || FailoverStages(Timeline{Trace: &report.Trace{Failovers: []metrics.Failover{{Phase: "release"}}}}) != nil {
		t.Error("a figure was drawn of nothing")
	}
}

func TestBudget_leavesOutTheMiddle(t *testing.T) {
	d := sampleFailovers()
	for i := range 40 {
		d.Failovers = append(d.Failovers, metrics.Failover{Phase: "crash", Round: 10 + i, Latency: time.Duration(i) * time.Second,
			Stages: map[string]time.Duration{metrics.FailoverExpire: time.Duration(i) * time.Second}})
	}
	if f := FailoverStages(d); !strings.Contains(f.About, "Of 46 failovers, 16 of medium length are omitted") {
		t.Errorf("it does not say what it leaves out: %s", f.About)
	}
}

// samplePauses is two series: one notices at once, the other late, and in one round
// never; its driver's logs do not say when its session expired.
func samplePauses() []Pauses {
	const ms = time.Millisecond
	round := func(n int, expired, granted, told time.Duration) metrics.Pause {
		return metrics.Pause{Round: n, Expired: expired, Granted: granted, Resumed: granted + 20*ms, Until: granted + 20*ms + told, Notified: true}
	}
	never := round(2, 0, 2400*ms, 10*time.Second)
	never.Notified = false
	return []Pauses{
		{"lock/predecessor", []metrics.Pause{round(1, 2100*ms, 2105*ms, ms/50), round(2, 1800*ms, 1803*ms, ms)}},
		{"lock/kazoo", []metrics.Pause{round(1, 0, 2000*ms, 80*ms), never}},
	}
}

func TestPaused_saysWhatBecameOfTheHolder(t *testing.T) {
	if got, want := legendText(PauseRounds(samplePauses())), "process paused; false belief; session expired (2); next client granted (4); never notified (1)"; got != want {
		t.Errorf("the legend says %q, want %q", got, want)
	}
	if PauseRounds(nil) != nil {
		t.Error("a figure was drawn of nothing")
	}
}

func TestPaused_leavesOutTheMiddle(t *testing.T) {
	all := samplePauses()
	for i := range 60 {
		all[0].Rounds = append(all[0].Rounds, metrics.Pause{Round: 3 + i, Granted: time.Second, Resumed: time.Second, Until: time.Second + time.Duration(i)*time.Millisecond})
	}
	f := PauseRounds(all)
	if want := "42 rounds of medium length are omitted."; !strings.Contains(f.About, want) {
		t.Errorf("it does not say %q: %s", want, f.About)
	}
	csv, err := f.CSV()
	must(t, err)
	if !strings.Contains(string(csv), "lock/predecessor: false belief,62,1.059\n") {
		t.Errorf("the longest is not among those that are left:\n%s", csv)
	}
}
