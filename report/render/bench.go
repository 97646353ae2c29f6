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
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// bench.txt is in the Go benchmark format, so that benchstat can compare two runs. It has one
// line per trial:
//
//	BenchmarkHerd/subject=lock:parent/clients=50 490 5200000 ns/handoff-p50 25.5 notifications/handoff
//
// In a benchmark's name, slashes separate the keys and a space ends the name. A subject's slash
// therefore becomes a colon, and spaces become underscores, so that `benchstat -col /subject`
// compares whole subjects. The number of iterations is the number of samples of the first
// number. Seed and versions are omitted, because benchstat would put runs that differ in
// these header lines into separate tables.
var _ = register(report.BenchFile, func(w io.Writer, v *view.View) error {
	var b strings.Builder
	for _, c := range []struct{ key, value string }{
		{"goos", v.Run.Host["os"]}, {"goarch", v.Run.Host["arch"]}, {"pkg", "zkbench"}, {"cpu", v.Run.Host["cpu"]},
		{"ensemble", v.Run.Ensemble.Kind},
	} {
		if value := strings.TrimSpace(units.Clean(c.value)); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", c.key, value)
		}
	}
	for _, unit := range v.Better {
		fmt.Fprintf(&b, "Unit %s better=higher\n", unit)
	}
	fmt.Fprintln(&b)
	for _, m := range v.Benchmarks {
		var numbers []string
		for _, n := range m.Numbers {
			if !math.IsNaN(n.Value) && !math.IsInf(n.Value, 0) {
				numbers = append(numbers, benchNumber(n.Value)+" "+n.Unit)
			}
		}
		if len(numbers) > 0 { // a line without a number is ignored
			fmt.Fprintf(&b, "Benchmark%s %d %s\n", benchLabel(m), m.Samples, strings.Join(numbers, " "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
})

// benchLabel returns the name of a cell. The letter after "Benchmark" must not be lower case.
func benchLabel(m view.Benchmark) string {
	label := cmp.Or(units.Capital(benchName(m.Scenario)), "Run") + "/subject=" + benchName(m.Subject)
	for _, p := range m.Varying {
		label += "/" + benchName(p.Name) + "=" + benchName(p.Value)
	}
	return label + "/clients=" + strconv.Itoa(m.Clients)
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
