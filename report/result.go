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
	Agents   []string          `json:"agents,omitempty"` // that carried the clients; none: one process had them
	Ended    string            `json:"ended,omitempty"`  // why it ended early: "interrupted", or an error
	LeftOut  []LeftOut         `json:"left_out,omitempty"`
	Incident *Incident         `json:"incident,omitempty"`
}

// Incident is a known mistake of a released library that the run was to show.
type Incident struct {
	About   string `json:"about"`           // what happened
	Thread  string `json:"thread"`          // where it is told: an address
	Version string `json:"version"`         // of what made it, like kazoo 2.8.0
	Cause   string `json:"cause"`           // the lines that do it
	Tried   string `json:"tried,omitempty"` // where it does not show: what was tried
}

// LeftOut is a fault of a built-in scenario that its question can do without, and that could
// not be had where it was run. The result is that of the rest.
type LeftOut struct {
	Phase string `json:"phase"`
	Fault string `json:"fault"` // its name
	Why   string `json:"why"`   // it could not be had
}

// Ensemble is what the trials ran against.
type Ensemble struct {
	Kind      string        `json:"kind"`
	About     string        `json:"about"`
	Members   int           `json:"members"`             // that vote
	Observers []string      `json:"observers,omitempty"` // the names of those that do not
	Tick      time.Duration `json:"tick,omitempty"`
}

// ours says whether we run the members, so that there are commits of every trial.
func (e Ensemble) ours() bool { return e.Kind == "process" || e.Kind == "container" }

// Trial is one cell of the scenario's matrix, executed.
type Trial struct {
	Name string `json:"name"` // file name of its history: herd-lock-parent-50
	history.Cell
	Repetition int               `json:"repetition,omitempty"` // which trial of its cell it is, from 1; 0 where there is only one
	Again      int               `json:"again,omitempty"`      // how often it was played before, and nothing came of it: a fault had missed its step
	Merged     int               `json:"-"`                    // how many trials it stands for, where it stands for several
	Metrics    map[string]Metric `json:"metrics"`
	Verdicts   []Verdict         `json:"verdicts"`
	Thresholds []Threshold       `json:"thresholds,omitempty"`
	Faults     []Fault           `json:"faults,omitempty"`
	Steps      []Step            `json:"steps,omitempty"`    // of an audit, that its calm episodes have shown
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

// Step is a place in a subject's protocol, and the faults that fit it: what an audit is to
// play there.
type Step struct {
	Step   string   `json:"step"`
	Faults []string `json:"faults"`
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
