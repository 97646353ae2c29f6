package text

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// Bench writes bench.txt in the Go benchmark format, so that benchstat compares
// two runs. One line a trial:
//
//	BenchmarkHerd/subject=lock:parent/clients=50 490 5200000 ns/handoff-p50 25.5 notifications/handoff
//
// In a benchmark's name a slash parts its keys and a space ends it, so a subject's
// slash becomes a colon and spaces become underscores: `benchstat -col /subject`
// then sets whole subjects side by side. The iterations are the samples behind
// the first latency, or 1. Seed and versions are left out: benchstat parts tables by
// whatever stands above them, and two runs would not meet in one.
func Bench(w io.Writer, r report.Result) error {
	var b strings.Builder
	for _, c := range []struct{ key, value string }{
		{"goos", r.Run.Host["os"]}, {"goarch", r.Run.Host["arch"]}, {"pkg", "zkbench"}, {"cpu", r.Run.Host["cpu"]},
		{"ensemble", r.Run.Ensemble.Kind},
	} {
		if v := strings.TrimSpace(units.Clean(c.value)); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", c.key, v)
		}
	}
	fmt.Fprint(&b, "Unit throughput/s better=higher\n\n")
	for _, s := range matrix.Of(r.Trials) {
		for _, x := range s.Series {
			for _, t := range x.Trials {
				benchLine(&b, x, t)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func benchLine(b *strings.Builder, x matrix.Series, t report.Trial) {
	values, samples := benchValues(t)
	if len(values) == 0 { // a line without a value is none
		return
	}
	fmt.Fprintf(b, "Benchmark%s/subject=%s", capital(benchName(t.Scenario)), benchName(x.Subject))
	for _, p := range x.Varying {
		fmt.Fprintf(b, "/%s=%s", benchName(p.Name), benchName(p.Value))
	}
	fmt.Fprintf(b, "/clients=%d %d %s\n", t.Clients, samples, strings.Join(values, " "))
}

// benchValues returns value and unit of each metric, and the samples behind them.
func benchValues(t report.Trial) (values []string, samples int64) {
	samples = 1
	add := func(v *float64, unit string) {
		if v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0) {
			values = append(values, strconv.FormatFloat(*v, 'f', -1, 64)+" "+unit)
		}
	}
	for _, l := range Latencies {
		m := t.Metrics[l.Name]
		short, _, _ := strings.Cut(l.Name, ".")
		if m.P50 != nil && m.Count != nil && samples == 1 {
			samples = max(1, *m.Count)
		}
		add(m.P50, "ns/"+short+"-p50")
		add(p99Of(l.Name)(t), "ns/"+short+"-p99")
	}
	add(t.Metrics["fanout.notifications"].Value, "notifications/handoff")
	add(t.Metrics["fanout.requests"].Value, "requests/handoff")
	add(t.Metrics["fanout.bytes"].Value, "B/handoff")
	add(t.Metrics["throughput"].Value, "throughput/s")
	return values, samples
}

// benchName makes a name that the format can carry. A dash before digits at its
// end would be read as GOMAXPROCS, but clients always come last.
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

// capital: the format wants the letter after "Benchmark" not to be a small one.
func capital(s string) string {
	r := []rune(s)
	if len(r) == 0 {
		return "Run"
	}
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}
