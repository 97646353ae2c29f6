// Package report concludes from the histories of a run what was measured, and which
// guarantees were kept. It never talks to ZooKeeper: a saved run folder is all it needs.
//
//	c, err := report.Judge("zkbench-out/herd-20261122-091500")
//	if err != nil { ... }
//	for _, t := range c.Result.Trials {
//		fmt.Println(t.Name, t.Outcome(), t.Metrics["handoff.latency"].P50)
//	}
//
// What is measured is defined in package metrics, what is promised in package verdict.
package report

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// Schema is the version of result.json that this code writes.
const Schema = "zkbench.result/v2"

// Result is result.json: everything that was concluded from one run.
// Times are in nanoseconds; a field that does not apply is absent, never 0.
type Result struct {
	Schema string  `json:"schema"`
	Run    Run     `json:"run"`
	Trials []Trial `json:"trials"`
	// Comparisons set the subjects against the run's base, where it has one.
	Comparisons []Comparison `json:"comparisons,omitempty"`
}

// Run says how, where and with what the trials were run.
type Run struct {
	ID       string            `json:"id"`
	Scenario string            `json:"scenario"`
	Command  string            `json:"command"` // repeats the run
	Seed     uint64            `json:"seed"`
	Start    time.Time         `json:"start"`
	Elapsed  time.Duration     `json:"elapsed"`
	Host     map[string]string `json:"host"`     // os, arch, cpus, cpu model, memory, kernel
	Versions map[string]string `json:"versions"` // zkbench, go, zookeeper, client library
	Ensemble Ensemble          `json:"ensemble"`
	Ended    string            `json:"ended,omitempty"` // why it ended early: "interrupted", "disk full"
}

// Ensemble is what the trials ran against.
type Ensemble struct {
	Kind    string        `json:"kind"`
	About   string        `json:"about"`
	Members int           `json:"members"`
	Tick    time.Duration `json:"tick,omitempty"`
}

// Trial is one cell of the scenario's matrix, executed.
type Trial struct {
	Name string `json:"name"` // file name of its history: herd-lock-parent-50
	history.Cell
	Repetition int               `json:"repetition,omitempty"` // which trial of its cell it is, from 1; 0 where there is only one
	Merged     int               `json:"-"`                    // how many trials it stands for, where it stands for several
	Metrics    map[string]Metric `json:"metrics"`
	Verdicts   []Verdict         `json:"verdicts"`
	Thresholds []Threshold       `json:"thresholds,omitempty"`
	Faults     []Fault           `json:"faults,omitempty"`
	Formulas   map[string]string `json:"formulas,omitempty"` // in words, as in the history's header
	// Expect are, in a zoo, the guarantees that the subject must be caught breaking. It
	// is as it should be when each of those verdicts fails.
	Expect []string `json:"expect,omitempty"`
}

// Metric is one measured quantity.
type Metric = metrics.Metric

// Verdict is what the history proves about one guarantee.
type Verdict = verdict.Verdict

// Threshold is a condition that the scenario sets on a metric.
type Threshold struct {
	Expr     string `json:"expr"`
	Result   string `json:"result"`
	Measured string `json:"measured"`
}

// Fault is one window of the history, as the report shows it.
type Fault struct {
	Fault  string        `json:"fault"`
	Target string        `json:"target"`
	Start  time.Duration `json:"start"`
	End    time.Duration `json:"end"`
	Proof  string        `json:"proof,omitempty"`
	Err    string        `json:"err,omitempty"`
}
