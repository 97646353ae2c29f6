package scenarios

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
	_ "github.com/zkbench/zkbench/recipes/zoo" // the built-in zoo names its subjects
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/scenarios/spec"
	"go.uber.org/goleak"
)

// Ensemble is real and has three members; it is one for all tests of this package. A
// short tick makes for short session timeouts.
var ensemble *ensembles.Ensemble

func TestMain(m *testing.M) {
	if name := os.Getenv(driverKey); name != "" {
		beDriver(name)
	}
	generated = generateSchema()
	flag.Set("test.parallel", "3") // they wait for sessions to expire
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	e, err := process.Start(ctx, ensembles.Options{Members: 3, Tick: 500 * time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		return 1
	}
	defer e.Down(context.Background())
	ensemble = e
	before := goleak.IgnoreCurrent()
	code := m.Run()
	// The shared ensemble is still up; a member that a test restarted has a new waiter.
	restarted := goleak.IgnoreAnyFunction("github.com/zkbench/zkbench/ensembles/process.(*machine).launch.func1")
	if err := goleak.Find(before, restarted); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "scenarios: goroutines are left:", err)
		code = 1
	}
	return code
}

var runs atomic.Int64

// runTrials runs a scenario on the real ensemble and returns what each trial came to,
// by its name.
func runTrials(t testing.TB, text string) map[string]report.Trial {
	t.Helper()
	return runTrialsOn(t, ensemble, nil, text)
}

// runTrialsOn is runTrials on another ensemble, whose members network cuts off, if it
// is not nil.
func runTrialsOn(t testing.TB, e *ensembles.Ensemble, network *network.Network, text string) map[string]report.Trial {
	t.Helper()
	trials := map[string]report.Trial{}
	for _, f := range playOn(t, e, network, text) {
		for _, u := range of[*history.TrialFailure](recordsOf(t, f)) {
			t.Errorf("%s could not be run: %s", f, u.Why)
		}
		h, err := history.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		folded := report.EvaluateHistory(h)
		if folded.Err != nil {
			t.Fatal(folded.Err)
		}
		trials[folded.Trial.Name] = folded.Trial
	}
	return trials
}

// playOn plays a scenario and returns its histories' paths.
func playOn(t testing.TB, e *ensembles.Ensemble, network *network.Network, text string) (histories []string) {
	t.Helper()
	s, err := spec.Load(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := runner{log: noLog, ensemble: e, network: network, id: fmt.Sprintf("test-%d", runs.Add(1)), seed: 1, dir: dir}
	batches, err := s.Batches()
	if err != nil || len(batches) != 1 {
		t.Fatalf("%d batches (%v), want one: there is one ensemble", len(batches), err)
	}
	if err := r.run(t.Context(), s, batches[0], 0, len(batches[0].Cells)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "history", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no history was written (%v)", err)
	}
	return files
}

// create begins a history at path.
func create(t testing.TB, path string) *history.Writer {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := history.Create(path, history.Header{Trial: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// recordsOf returns the records of a history, its commits included.
func recordsOf(t testing.TB, path string) (all []history.Record) {
	t.Helper()
	h, err := history.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for n, err := range h.Records {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n.Record)
	}
	return all
}

// of returns the records of a kind.
func of[R history.Record](records []history.Record) (found []R) {
	for _, r := range records {
		if r, is := r.(R); is {
			found = append(found, r)
		}
	}
	return found
}

// only returns the one record of a kind.
func only[R history.Record](t testing.TB, records []history.Record) R {
	t.Helper()
	found := of[R](records)
	if len(found) != 1 {
		t.Fatalf("%d records of %T, want one", len(found), found)
	}
	return found[0]
}

// sound fails the test for every guarantee that is not proven. Whether the machine
// had time for the measurement is not what is tested here.
func sound(t *testing.T, trial report.Trial) {
	t.Helper()
	for _, v := range trial.Verdicts {
		if v.Result != report.Pass && verdict.IsChecked(v.Result) && v.Guarantee != "harness-health" {
			t.Errorf("%s: %s is %s: %q", trial.Name, v.Guarantee, v.Result, v.Reasons)
		}
	}
}

// value returns the value of a metric that must be there.
func value(t *testing.T, trial report.Trial, metric string) report.Metric {
	t.Helper()
	m := trial.Metrics[metric]
	if m.Value == nil {
		t.Fatalf("%s: %s was not measured", trial.Name, metric)
	}
	return m
}

func noLog(string, ...any) {}
