package scenarios

import (
	"maps"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// watched runs something under the self-watch and returns the verdict on it.
func watched(t *testing.T, limits history.HarnessLimits, run func()) (report.Verdict, *history.HarnessLoad) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.zst")
	w := create(t, path)
	clock := history.Start()
	self := watchSelf(w, limits)
	run()
	self.stop(clock.Now)
	must(t, w.Close())
	v := verdictOn(trialOf(t, path), verdict.HarnessHealth)
	if v == nil {
		t.Fatal("the harness is not judged")
	}
	return *v, only[*history.HarnessLoad](t, recordsOf(t, path))
}

// burn keeps all processors busy.
func burn(d time.Duration) {
	until, done := time.Now().Add(d), make(chan bool)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for time.Now().Before(until) {
			}
			done <- true
		}()
	}
	for range runtime.GOMAXPROCS(0) {
		<-done
	}
}

func TestSelf_seesItsOwnHunger(t *testing.T) {
	wide := history.HarnessLimits{Late: time.Minute, LateShare: 1, Backlog: 100_000, CPU: 1, MachineCPU: 1}
	rest := func() { time.Sleep(300 * time.Millisecond) }
	if v, saw := watched(t, wide, rest); v.Result != verdict.Pass || saw.Ticks < 3 {
		t.Errorf("a harness at rest is unfit: %v %v", v.Reasons, saw)
	}
	hungry := wide
	hungry.CPU = 0.02 // other processes may leave it little
	if v, saw := watched(t, hungry, func() { burn(time.Second) }); v.Result != verdict.Unknown {
		t.Errorf("a harness that burns its processors is fit: %+v", saw)
	}
	late := wide
	late.Late = time.Nanosecond
	if v, saw := watched(t, late, rest); v.Result != verdict.Unknown {
		t.Errorf("no timer is on time to the nanosecond, and yet it is fit: %+v", saw)
	}
}

// What is needed is what there is on this machine, and not the soft limit of a shell.
func TestOpenFiles_areKnown(t *testing.T) {
	if most, ok := openFiles(); ok && most < 100 {
		t.Errorf("up to %d files can be open, and this test runs", most)
	}
}

func TestPowerFacts(t *testing.T) {
	sys := fstest.MapFS{
		"devices/system/cpu/cpu0/cpufreq/scaling_governor": {Data: []byte("powersave\n")},
		"devices/system/cpu/cpuidle/current_driver":        {Data: []byte("intel_idle\n")},
		"devices/system/cpu/cpufreq/boost":                 {Data: []byte("\n")},
	}
	want := map[string]string{"frequency governor": "powersave", "idle driver": "intel_idle"}
	if got := powerFacts(sys); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
