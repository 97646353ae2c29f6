package scenarios

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	if left := driversLeft(); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "scenarios: processes of drivers are left:", left)
		code = 1
	}
	// The shared ensemble is still up; a member that a test restarted has a new waiter.
	restarted := goleak.IgnoreAnyFunction("github.com/zkbench/zkbench/ensembles/process.onOwnThread.func1")
	if err := goleak.Find(before, restarted); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "scenarios: goroutines are left:", err)
		code = 1
	}
	return code
}

// startEnsemble starts an ensemble of the test's own.
func startEnsemble(t *testing.T, o ensembles.Options) *ensembles.Ensemble {
	t.Helper()
	e, err := process.Start(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, e.Down(context.Background())) })
	return e
}

var runs atomic.Int64

// newRunner returns a runner on the shared ensemble, with a run folder of its own.
func newRunner(t *testing.T) *runner {
	return &runner{Config: Config{Logf: noLog, Seed: 1, Dir: t.TempDir()}, ensemble: ensemble, id: fmt.Sprintf("test-%d", runs.Add(1))}
}

// runTrials runs a scenario on the shared ensemble and returns its trials by name.
func runTrials(t *testing.T, text string) map[string]report.Trial {
	t.Helper()
	return trialsOf(t, newRunner(t).play(t, text))
}

// trialsOf evaluates histories, and returns the trials by name. Each must have been run.
func trialsOf(t *testing.T, histories []string) map[string]report.Trial {
	t.Helper()
	trials := map[string]report.Trial{}
	for _, f := range histories {
		for _, u := range of[*history.TrialFailure](recordsOf(t, f)) {
			t.Errorf("%s could not be run: %s", f, u.Why)
		}
		trial := trialOf(t, f)
		trials[trial.Name] = trial
	}
	return trials
}

// trialOf evaluates a history.
func trialOf(t *testing.T, path string) report.Trial {
	t.Helper()
	h, err := history.Open(path)
	must(t, err)
	folded := report.EvaluateHistory(h)
	must(t, folded.Err)
	return folded.Trial
}

// play runs a scenario and returns its histories' paths, ordered by the trials' names.
func (r *runner) play(t *testing.T, text string) (histories []string) {
	t.Helper()
	must(t, r.begin(t.Context(), t, text))
	files, err := filepath.Glob(filepath.Join(r.Dir, report.HistoryDir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no history was written (%v)", err)
	}
	return files
}

// begin runs a scenario until ctx is done.
func (r *runner) begin(ctx context.Context, t *testing.T, text string) error {
	t.Helper()
	s := load(t, text)
	batches, err := s.Batches()
	if err != nil || len(batches) != 1 {
		t.Fatalf("%d batches (%v), want one: there is one ensemble", len(batches), err)
	}
	return r.run(ctx, s, batches[0], 0, len(batches[0].Cells))
}

// played runs a scenario of one trial on the shared ensemble, and returns its records.
func played(t *testing.T, text string) []history.Record {
	t.Helper()
	files := newRunner(t).play(t, text)
	if len(files) != 1 {
		t.Fatalf("%d histories, want one", len(files))
	}
	return recordsOf(t, files[0])
}

// load reads a scenario.
func load(t *testing.T, text string, overrides ...string) *spec.Scenario {
	t.Helper()
	s, err := spec.Load("test.yaml", []byte(text), overrides...)
	must(t, err)
	return s
}

// shipped loads a scenario that is built in.
func shipped(t *testing.T, name string, overrides ...string) *spec.Scenario {
	t.Helper()
	name, text, err := spec.Source(name)
	must(t, err)
	s, err := spec.Load(name, text, overrides...)
	must(t, err)
	return s
}

// create begins a history at path.
func create(t *testing.T, path string) *history.Writer {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	w, err := history.Create(path, history.Header{Trial: "test"})
	must(t, err)
	return w
}

// recordsOf returns the records of a history, its commits included.
func recordsOf(t *testing.T, path string) (all []history.Record) {
	t.Helper()
	h, err := history.Open(path)
	must(t, err)
	for n, err := range h.Records {
		must(t, err)
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
func only[R history.Record](t *testing.T, records []history.Record) R {
	t.Helper()
	found := of[R](records)
	if len(found) != 1 {
		t.Fatalf("%d records of %T, want one", len(found), found)
	}
	return found[0]
}

// sound fails the test for every guarantee that is not proven, except those in open. Whether the machine
// had time for the measurement is not what is tested here.
func sound(t *testing.T, trial report.Trial, open ...string) {
	t.Helper()
	open = append(open, verdict.HarnessHealth)
	for _, v := range trial.Verdicts {
		if v.Result == report.Fail || v.Result == report.Unknown && !slices.Contains(open, v.Guarantee) {
			t.Errorf("%s: %s is %s: %q", trial.Name, v.Guarantee, v.Result, v.Reasons)
		}
	}
}

// nothingFailed fails the test for every guarantee that the trial has broken.
func nothingFailed(t *testing.T, trial report.Trial) {
	t.Helper()
	for _, v := range trial.Verdicts {
		if v.Result == report.Fail {
			t.Errorf("%s: %s: %q", trial.Name, v.Guarantee, v.Reasons)
		}
	}
}

// passed fails the test if the outcome of the trial is not a pass.
func passed(t *testing.T, trial report.Trial) {
	t.Helper()
	if trial.Outcome() != report.Pass {
		t.Errorf("%s is %s: %v", trial.Name, trial.Outcome(), trial.Verdicts)
	}
}

// judged fails the test unless the guarantee has that result, and its reasons contain all of why.
func judged(t *testing.T, trial report.Trial, guarantee, result string, why ...string) {
	t.Helper()
	v := verdictOn(trial, guarantee)
	if v == nil || v.Result != result {
		t.Errorf("%s: %s is %+v, want %s", trial.Name, guarantee, v, result)
		return
	}
	for _, text := range why {
		if !strings.Contains(strings.Join(v.Reasons, "; "), text) {
			t.Errorf("%s: %s: want %q in %q", trial.Name, guarantee, text, v.Reasons)
		}
	}
}

// verdictOn returns the verdict on a guarantee; nil if there is none.
func verdictOn(trial report.Trial, guarantee string) *report.Verdict {
	for i := range trial.Verdicts {
		if trial.Verdicts[i].Guarantee == guarantee {
			return &trial.Verdicts[i]
		}
	}
	return nil
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

// failureOf returns why a trial could not be run.
func failureOf(t *testing.T, path string) string {
	t.Helper()
	return only[*history.TrialFailure](t, recordsOf(t, path)).Why
}

func noLog(string, ...any) {}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless err contains want; without want there must be no error.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
}
