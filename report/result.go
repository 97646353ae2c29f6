// Package report derives metrics and verdicts from the histories of a run. It needs only a
// saved run folder, never an ensemble.
//
//	c, err := report.Judge("zkbench-out/herd-20261122-091500")
//	if err != nil { ... }
//	for _, t := range c.Result.Trials {
//		fmt.Println(t.Name, t.Outcome(), t.Metrics["handoff.latency"].P50)
//	}
//
// Package metrics defines the metrics, and package verdict the guarantees.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Schema is the version of result.json that this code writes.
const Schema = "zkbench.result/v3"

// Result is the content of result.json: all conclusions from one run. Times are in nanoseconds. A
// field that does not apply is absent, never 0.
type Result struct {
	Schema      string       `json:"schema"`
	Run         Run          `json:"run"`
	Trials      []Trial      `json:"trials"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
}

// Run describes how, where and with which versions the trials were run.
type Run struct {
	ID            string            `json:"id"`
	Scenario      string            `json:"scenario"`
	About         string            `json:"about,omitempty"` // the scenario's question, and how the run answers it
	Command       string            `json:"command"`         // command line that repeats the run
	Seed          uint64            `json:"seed"`
	Start         time.Time         `json:"start"`
	Elapsed       time.Duration     `json:"elapsed"`
	Host          map[string]string `json:"host"`     // os, arch, cpus, cpu model, memory, kernel
	Versions      map[string]string `json:"versions"` // zkbench, go, zookeeper, client library
	Ensemble      Ensemble          `json:"ensemble"`
	Agents        []string          `json:"agents,omitempty"` // agents that ran the clients; empty: zkbench ran them itself
	EndReason     string            `json:"ended,omitempty"`  // why the run ended early: "interrupted", or an error
	SkippedFaults []SkippedFault    `json:"left_out,omitempty"`
	Incident      *Incident         `json:"incident,omitempty"`
}

// Incident is a known bug of a released library that the run reproduces.
type Incident struct {
	About      string `json:"about"`                // the failure
	Thread     string `json:"thread"`               // URL of the published report
	Version    string `json:"version"`              // of the library, like kazoo 2.8.0
	Introduced string `json:"introduced,omitempty"` // first version with the bug; "" if not known
	Fixed      string `json:"fixed,omitempty"`      // first version without the bug
	Cause      string `json:"cause"`                // the lines of code that cause the failure
	Tried      string `json:"tried,omitempty"`      // the attempts, if the failure does not reproduce
}

// SkippedFault is an optional fault of a built-in scenario that this machine could not inject.
type SkippedFault struct {
	Phase string `json:"phase"`
	Fault string `json:"fault"` // its name
	Why   string `json:"why"`   // why it could not be injected
}

type Ensemble struct {
	Kind      string        `json:"kind"`
	About     string        `json:"about"`
	Members   int           `json:"members"`             // number of members that vote
	Observers []string      `json:"observers,omitempty"` // names of the members that do not vote
	Tick      time.Duration `json:"tick,omitempty"`
}

// managed reports whether zkbench started the members, so that it can read the commits of every trial.
func (e Ensemble) managed() bool { return e.Kind == "process" || e.Kind == "container" }

type Trial struct {
	Name string `json:"name"` // file name of its history: herd-lock-parent-50
	history.Cell
	Repetition int               `json:"repetition,omitempty"` // number of the trial in its cell, from 1; 0 if there is only one
	Look       int               `json:"look,omitempty"`       // see history.Header
	Retries    int               `json:"again,omitempty"`      // number of earlier attempts whose fault missed its step
	Merged     int               `json:"-"`                    // number of trials merged into this one; 0: it is a single trial
	Metrics    map[string]Metric `json:"metrics"`
	Verdicts   []Verdict         `json:"verdicts"`
	Thresholds []Threshold       `json:"thresholds,omitempty"`
	Faults     []Fault           `json:"faults,omitempty"`
	Steps      []Step            `json:"steps,omitempty"`    // of an audit, as recorded in the episodes without faults
	Formulas   map[string]string `json:"formulas,omitempty"` // as text, from the history's header
	// Expect contains, in a zoo, the guarantees that the subject must violate. The trial passes
	// if each of these verdicts fails.
	Expect []string `json:"expect,omitempty"`
}

type Metric = metrics.Metric

type Verdict = verdict.Verdict

type Threshold struct {
	Expr     string `json:"expr"`
	Result   string `json:"result"`
	Measured string `json:"measured"`
}

// Step is a step of a subject's protocol with the faults that an audit injects there.
type Step struct {
	Step   string   `json:"step"`
	Faults []string `json:"faults"`
}

type Fault struct {
	Fault  string        `json:"fault"`
	Target string        `json:"target"`
	Start  time.Duration `json:"start"`
	End    time.Duration `json:"end"`
	Proof  string        `json:"proof,omitempty"`
	Err    string        `json:"err,omitempty"`
}

// Measure identifies a value that a trial measured: a metric and one of its fields.
type Measure struct{ Metric, Field string }

// String returns the measure as thresholds write it: "handoff.latency.p50", "throughput".
func (m Measure) String() string {
	if m.Field == "value" {
		return m.Metric
	}
	return m.Metric + "." + m.Field
}

// Value returns the measure's value in the trial; nil if it was not measured or has too few samples.
func (m Measure) Value(t Trial) *float64 {
	x := t.Metrics[m.Metric]
	if x.TooFew(m.Field) {
		return nil
	}
	return x.Field(m.Field)
}

// HigherIsBetter reports whether a decrease is a regression.
func (m Measure) HigherIsBetter() bool {
	d, _, _ := metrics.Find(m.Metric)
	return d.Better == metrics.Higher || m.Field == "count"
}

// ParseMeasure parses the left side of a threshold: "handoff.latency.p50".
func ParseMeasure(s string) (Measure, error) {
	metric, field, err := splitMetric(s)
	if err == nil && metric == allVerdicts {
		err = fmt.Errorf("%s has no numeric value", s)
	}
	return Measure{metric, field}, err
}

// splitMetric splits a metric's name, which has dots, from the field after it.
func splitMetric(s string) (metric, field string, err error) {
	if s == allVerdicts {
		return s, "", nil
	}
	if name, ok := strings.CutPrefix(s, allVerdicts+"."); ok {
		if _, known := verdict.Find(name); !known {
			return "", "", fmt.Errorf("unknown guarantee %q%s", name, units.Nearest(name, verdict.Names()))
		}
		return allVerdicts, name, nil
	}
	whole, phase, ok := metrics.Find(s)
	if ok && phase == "" && !slices.Contains(whole.FieldNames(), "value") {
		return "", "", fmt.Errorf("%s is a distribution: add one of the fields %s, like %s.p99", s, strings.Join(whole.FieldNames(), ", "), s)
	}
	if ok && phase == "" {
		return s, "value", nil
	}
	dot := max(strings.LastIndexByte(s, '.'), 0)
	before, after := s[:dot], strings.TrimPrefix(s[dot:], ".")
	d, inPhase, known := metrics.Find(before)
	switch {
	case known && slices.Contains(d.FieldNames(), after) && (inPhase == "" || d.Distribution):
		return before, after, nil
	case ok && !whole.Distribution:
		return s, "value", nil // of one phase
	case known && inPhase == "":
		return "", "", fmt.Errorf("%s has no field %q%s", before, after, units.Nearest(after, d.FieldNames()))
	case slices.Contains(metrics.DistributionFields, after):
		s = before
	}
	return "", "", fmt.Errorf("unknown metric %q%s (see zkbench help metrics)", s, units.Nearest(s, append(metrics.Names(), allVerdicts)))
}

// The results of a verdict, a threshold, a trial or a run.
const (
	Pass    = verdict.Pass
	Fail    = verdict.Fail
	Unknown = verdict.Unknown

	NotPromised = verdict.NotPromised // as a verdict only
	NotJudged   = verdict.NotJudged
)

// HarnessHealth names the verdict on whether machine and harness were fast enough for valid measurements.
const HarnessHealth = verdict.HarnessHealth

// Outcome returns the result of the run, which determines the exit code: the worst result of its
// trials. It is at best unknown if the run ended early or has no trials.
func (r Result) Outcome() string {
	var results []string
	for _, t := range r.Trials {
		results = append(results, t.Outcome())
	}
	if r.Run.EndReason != "" {
		results = append(results, Unknown)
	}
	return verdict.Worst(results...)
}

// Outcome returns the worst result of the trial's verdicts and thresholds. It is at best unknown if
// a fault has no proof. For a deliberately broken subject it depends on whether the defect was
// detected, see [Trial.DetectionResult].
func (t Trial) Outcome() string {
	verdicts, thresholds := t.countedResults()
	results := slices.Concat(verdicts, thresholds)
	if len(t.Verdicts) == 0 && len(t.Expect) == 0 || t.CountUnproven() > 0 {
		results = append(results, Unknown)
	}
	return verdict.Worst(results...)
}

// countedResults returns the results that count: for a deliberately broken subject, only its detection.
func (t Trial) countedResults() (verdicts, thresholds []string) {
	if len(t.Expect) > 0 {
		return []string{t.DetectionResult()}, nil
	}
	for _, v := range t.Verdicts {
		verdicts = append(verdicts, v.Result)
	}
	for _, h := range t.Thresholds {
		thresholds = append(thresholds, h.Result)
	}
	return verdicts, thresholds
}

// Missed returns the expected violations that were not detected.
func (t Trial) Missed() []string {
	return slices.DeleteFunc(slices.Clone(t.Expect), func(name string) bool {
		return slices.ContainsFunc(t.Verdicts, func(v Verdict) bool { return v.Guarantee == name && v.Result == Fail })
	})
}

// DetectionResult returns the result of a trial whose subject is deliberately broken: pass if each expected
// violation was detected.
func (t Trial) DetectionResult() string {
	switch {
	case len(t.Missed()) == 0:
		return Pass
	case t.CountUnproven() > 0:
		return Unknown
	}
	for _, v := range t.Verdicts {
		if v.Result == Pass && slices.Contains(t.Expect, v.Guarantee) {
			return Fail // the guarantee was checked, but its violation not detected
		}
	}
	return Unknown
}

func (t Trial) CountUnproven() (n int) {
	for _, f := range t.Faults {
		if f.Proof == "" {
			n++
		}
	}
	return n
}

// InapplicableReason returns the reason why the trial does not apply to the recipe; "" if it applies.
func (t Trial) InapplicableReason() string {
	for _, v := range t.Verdicts {
		if v.Result == NotJudged && (v.Guarantee == verdict.Faults || v.Guarantee == verdict.Completed) {
			return strings.Join(v.Reasons, "; ")
		}
	}
	return ""
}

// Skipped reports whether the fault was not injected because this machine cannot inject it.
func (f Fault) Skipped() bool { return f.Proof == "" && strings.HasPrefix(f.Err, "skipped") }

type Tally struct{ Pass, Fail, Unknown int }

func (t Tally) Total() int { return t.Pass + t.Fail + t.Unknown }

// Add counts results. The results "not promised" and "not exercised" do not count; any other result
// that is neither pass nor fail counts as unknown.
func (t *Tally) Add(results ...string) {
	for _, r := range results {
		switch {
		case r == Pass:
			t.Pass++
		case r == Fail:
			t.Fail++
		case verdict.IsChecked(r):
			t.Unknown++
		}
	}
}

// Tallies counts the verdicts and thresholds that determine the outcome of the trials.
func Tallies(trials []Trial) (verdicts, thresholds Tally) {
	for _, t := range trials {
		v, h := t.countedResults()
		verdicts.Add(v...)
		thresholds.Add(h...)
	}
	return verdicts, thresholds
}
