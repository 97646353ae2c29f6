package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Check is a check of a trial: of a guarantee, a threshold, a deliberate defect, or the effect of a fault.
type Check struct {
	What       string // "fifo", "handoff.latency.p50 < 5ms", "caught by no-orphan"
	FailedName string // name for a check that did not pass: "not caught by no-orphan"
	Result     string // report.Pass, Fail, Unknown, NotPromised or NotJudged, or [Skipped]
	Reasons    []string
	Records    []int // records of the history that prove it

	threshold bool
}

// checks returns the checks of a trial. A deliberately broken subject has only one, so that its
// expected violations do not hide unexpected ones of other subjects.
func checks(t report.Trial) []Check {
	if len(t.Expect) > 0 {
		return []Check{checkCaught(t)}
	}
	var out []Check
	for _, v := range t.Verdicts {
		out = append(out, Check{What: v.Guarantee, FailedName: v.Guarantee, Result: normalizeResult(v.Result), Reasons: v.Reasons, Records: v.Records})
	}
	for _, h := range t.Thresholds {
		out = append(out, Check{What: h.Expr, FailedName: h.Expr, Result: normalizeResult(h.Result), Reasons: []string{measuredText(h.Measured)}, threshold: true})
	}
	if len(t.Verdicts) == 0 {
		out = append(out, Check{What: "checked", FailedName: "not checked", Result: report.Unknown, Reasons: []string{"no guarantee was checked"}})
	}
	return out
}

// measuredText puts "measured" before the measured value of a threshold, if it is not there already.
func measuredText(text string) string {
	switch {
	case text == "":
		return "not measured"
	case strings.HasPrefix(text, "not measured") || strings.HasPrefix(text, "measured "):
		return text
	}
	return "measured " + text
}

func checkCaught(t report.Trial) Check {
	c := Check{What: "caught by " + units.List(t.Expect), FailedName: "not caught by " + units.List(t.Missed()), Result: t.DetectionResult()}
	for _, v := range t.Verdicts {
		if slices.Contains(t.Expect, v.Guarantee) && v.Result == report.Fail {
			c.Reasons, c.Records = slices.Concat(c.Reasons, v.Reasons), slices.Concat(c.Records, v.Records)
		}
	}
	for _, name := range t.Missed() {
		state := "was not checked"
		for _, v := range t.Verdicts {
			if v.Guarantee == name {
				state = "is " + strings.Join(append([]string{v.Result}, v.Reasons...), ": ")
			}
		}
		c.Reasons = append(c.Reasons, name+" "+state)
	}
	return c
}

// Suite contains the checks of one cell, with the worst result over its repetitions.
type Suite struct {
	Name   string // of the trial
	Class  string // scenario, subject and count of clients
	Checks []Check
}

// suites returns all checks, except those of audits. In a zoo a check includes the script, because
// each subject has several. A fault without a proven effect, a trial without a verdict, and a run that
// ended early are unknown.
func (b builder) suites() (out []Suite) {
	runCheck := func(what, result, why string) {
		c := Check{What: what, Result: result, Reasons: []string{why}}
		out = append(out, Suite{Name: "run", Class: "zkbench", Checks: []Check{c}})
	}
	for _, t := range b.trials {
		if t.Step != "" {
			continue
		}
		s := Suite{Name: t.Name, Class: fmt.Sprintf("%s.%s.%d", t.Scenario, t.Subject, t.Clients), Checks: checks(t)}
		for i := range s.Checks {
			if t.Script != "" {
				s.Checks[i].What += ", cell " + t.Script
			}
		}
		if len(t.Expect) == 0 {
			s.Checks = append(s.Checks, unprovenFaults(t)...)
		}
		out = append(out, s)
	}
	for _, l := range b.Result.Run.SkippedFaults {
		runCheck(fmt.Sprintf("fault %s in %s", l.Fault, l.Phase), Skipped, "skipped: "+l.Why)
	}
	if ended := b.Result.Run.EndReason; ended != "" || len(b.trials) == 0 {
		runCheck("the run completed", report.Unknown, cmp.Or(ended, "no trial was run"))
	}
	return out
}

func unprovenFaults(t report.Trial) []Check {
	var out []Check
	for _, f := range t.Faults {
		if f.Proof != "" {
			continue
		}
		c := Check{What: fmt.Sprintf("fault %s at %s", history.DescribeFault(f.Fault, f.Target), f.Start.Round(time.Millisecond)), Result: report.Unknown, Reasons: []string{cmp.Or(f.Err, noProof)}}
		if f.Skipped() {
			c.Result = Skipped
		}
		out = append(out, c)
	}
	return out
}

const noProof = "no proven effect"

func normalizeResult(result string) string {
	if rank(result) == rank(report.Unknown) {
		return report.Unknown
	}
	return result
}

func failedText(_ string, t report.Trial) string {
	m := t.Metrics[metrics.OperationsFailed]
	if m.Value == nil || *m.Value == 0 || m.Count == nil {
		return ""
	}
	return fmt.Sprintf("%s of %s with %s failed while no fault was active. The first: %s.",
		units.Number(*m.Value), units.Plural(int(*m.Count), "operation"), units.Plural(t.Clients, "client"), m.Note)
}

func starvedText(_ string, t report.Trial) string {
	m := t.Metrics[metrics.Overtaken]
	if m.Value == nil || m.Expected == nil || *m.Value <= *m.Expected || m.Count == nil {
		return ""
	}
	return fmt.Sprintf("Starvation: %s of %d waited while others received more than %d grants per contender; the client that waited longest was passed over %s times.",
		units.Plural(int(*m.Count), "client"), t.Clients, metrics.StarvationLimit, units.Number(*m.Value))
}

// pathsText states the throughput of a trial with several paths, once for all repetitions.
func pathsText(label string, t report.Trial) string {
	m := t.Metrics[metrics.Throughput]
	if m.Value == nil || m.Note == "" || t.Repetition > 1 {
		return ""
	}
	return fmt.Sprintf("%s: a throughput of %s in total; %s.", label, units.Quantity(*m.Value, m.Unit), m.Note)
}

func (b builder) incident() Section {
	i := b.Result.Run.Incident
	if i == nil {
		return Section{}
	}
	facts := []Fact{{"what happened", i.About}, {"version", i.Version}, {"reported in", i.Thread},
		{"cause", i.Cause}, {"fixed in", i.Fixed}, {"not reproduced", i.Tried}}
	facts = slices.DeleteFunc(facts, func(f Fact) bool { return f.Value == "" })
	return Section{ID: "incident", Title: "Known bug", Blocks: []Block{{Facts: facts}}}
}

// incidentResult returns the result of an incident, such as "reproduced", for a row of the zoo's table.
func incidentResult(r Row) string {
	switch {
	case r.Result == report.Unknown:
		return report.Unknown
	case r.Cells[2] == mustPass && r.Result == report.Pass:
		return "not reproduced"
	case r.Result == report.Pass:
		return "reproduced"
	}
	return "NOT as expected: " + strings.TrimPrefix(r.Cells[3], "NO: ")
}

// runWith returns the versions of the subject and of the servers that ran. The version of the subject is in its
// name (lock/kazoo@2.8.0), else in the versions of the run, else, for a subject of zkbench, in the incident.
func runWith(subject string, r report.Run) string {
	name, version, _ := strings.Cut(subject, "@")
	with := r.Incident.Version
	if version = cmp.Or(version, r.Versions[name]); version != "" {
		with = name[strings.LastIndexByte(name, '/')+1:] + " " + version
	}
	if servers := r.Versions["zookeeper"]; servers != "" {
		with += ", servers " + servers
	}
	return with
}

func IncidentTable(runs ...report.Result) Table {
	t := Table{Columns: []Column{{Head: "what happened"}, {Head: "introduced in"}, {Head: "fixed in"}, {Head: "run here with", Kind: NoWrap}, {Head: "cell", Kind: Code}, {Head: "breaks"},
		{Head: "result", Kind: Status}, {Head: "run at commit", Kind: Code}}}
	for _, r := range runs {
		if r.Run.Incident == nil {
			continue
		}
		z := zooTable(r.Trials)
		for _, row := range z.Rows {
			breaks, here := row.Cells[2], incidentResult(row)
			if breaks == mustPass {
				breaks = "nothing"
			}
			i := r.Run.Incident
			t.Rows = append(t.Rows, Row{Result: row.Result, Cells: []string{i.About, cmp.Or(i.Introduced, "not known"), cmp.Or(i.Fixed, "not fixed in any version tried"), runWith(row.Cells[0], r.Run),
				row.Cells[0] + ": " + row.Cells[1], breaks, here, fmt.Sprintf("%.8s", r.Run.Versions["zkbench"])}})
		}
	}
	return t
}
