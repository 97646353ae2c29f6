package render

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// bench writes the Go benchmark format, so that benchstat can compare two runs. It has one
// line per trial:
//
//	BenchmarkHerd/subject=lock:parent/clients=50 490 5200000 ns/handoff-p50 25.5 notifications/handoff
//
// In a benchmark's name, slashes separate the keys and a space ends the name. A subject's slash
// therefore becomes a colon, and spaces become underscores, so that `benchstat -col /subject`
// compares whole subjects. The number of iterations is the number of samples of the first
// number. Seed and versions are omitted, because benchstat would put runs that differ in
// these header lines into separate tables.
func bench(w io.Writer, v *view.View) error {
	var b strings.Builder
	for _, c := range []struct{ key, value string }{
		{"goos", v.Run.Host["os"]}, {"goarch", v.Run.Host["arch"]}, {"pkg", "zkbench"}, {"cpu", v.Run.Host["cpu"]},
		{"ensemble", v.Run.Ensemble.Kind},
	} {
		if value := strings.TrimSpace(units.Clean(c.value)); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", c.key, value)
		}
	}
	fmt.Fprintf(&b, "Unit %s better=higher\n\n", perSecond)
	for _, s := range v.Scenarios {
		for _, x := range s.Series {
			for _, t := range x.Trials {
				if samples, numbers := benchNumbers(t); len(numbers) > 0 { // a line without a number is ignored
					fmt.Fprintf(&b, "Benchmark%s %d %s\n", benchLabel(x, t), samples, strings.Join(numbers, " "))
				}
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchLabel returns the name of a cell. The letter after "Benchmark" must not be lower case.
func benchLabel(x matrix.Series, t report.Trial) string {
	label := cmp.Or(units.Capital(benchName(t.Scenario)), "Run") + "/subject=" + benchName(x.Subject)
	for _, p := range x.Varying {
		label += "/" + benchName(p.Name) + "=" + benchName(p.Value)
	}
	return label + "/clients=" + strconv.Itoa(t.Clients)
}

const perSecond = "throughput/s"

// benchNumbers returns the numbers of a trial with their units: "5200000 ns/handoff-p50".
func benchNumbers(t report.Trial) (samples int, numbers []string) {
	add := func(metric, field, unit string) {
		v := report.Measure{Metric: metric, Field: field}.Value(t)
		if v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0) {
			numbers = append(numbers, benchNumber(*v)+" "+unit)
		}
	}
	samples = 1
	for _, l := range metrics.Latencies() {
		if m := t.Metrics[l.Name]; m.P50 != nil && samples == 1 {
			samples = max(1, m.Samples())
		}
		short, _, _ := strings.Cut(l.Name, ".")
		add(l.Name, "p50", "ns/"+short+"-p50")
		add(l.Name, "p99", "ns/"+short+"-p99")
	}
	add(metrics.FanoutNotifications, "value", "notifications/handoff")
	add(metrics.FanoutRequests, "value", "requests/handoff")
	add(metrics.FanoutBytes, "value", "B/handoff")
	add(metrics.Throughput, "value", perSecond)
	return samples, numbers
}

// benchNumber formats a number with six significant digits, more than any measurement has.
func benchNumber(v float64) string {
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64); err == nil {
		v = rounded
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// benchName replaces the characters that have a meaning in the format. A final dash with digits would
// be read as GOMAXPROCS, but every name ends with the number of clients.
func benchName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '/':
			return ':'
		case unicode.IsSpace(r) || r == '=':
			return '_'
		}
		return r
	}, units.Clean(s))
}
