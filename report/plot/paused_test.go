package plot

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/metrics"
)

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

func words(f *Figure) string {
	var out []string
	for _, e := range f.legend {
		out = append(out, e.text)
	}
	return strings.Join(out, "; ")
}

func TestPaused_saysWhatBecameOfTheHolder(t *testing.T) {
	if got, want := words(PauseRounds(samplePauses())), "process paused; false belief; session expired (2); next client granted (4); never notified (1)"; got != want {
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
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(csv), "lock/predecessor: false belief,62,1.059\n") {
		t.Errorf("the longest is not among those that are left:\n%s", csv)
	}
}
