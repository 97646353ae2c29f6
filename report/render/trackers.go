package render

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// Files for two services that draw how a number went from commit to commit. Where a cell has
// several trials, the value is the middle one, and the smallest and the largest stand beside it.

// A list for github-action-benchmark, tool customSmallerIsBetter: of what is better when it is
// more, like a throughput, it has nothing.
var _ = register("benchmark-action.json", func(w io.Writer, v *view.View) error {
	type entry struct {
		Name  string  `json:"name"`
		Unit  string  `json:"unit"`
		Value float64 `json:"value"`
		Range string  `json:"range,omitempty"`
	}
	entries := []entry{}
	for _, t := range tracked(v) {
		if slices.Contains(v.Better, t.unit) {
			continue
		}
		e := entry{Name: t.name + " " + t.unit, Unit: t.unit, Value: t.middle()}
		if low, high := t.values[0], t.values[len(t.values)-1]; low != high {
			e.Range = units.Number(low) + " to " + units.Number(high)
		}
		entries = append(entries, e)
	}
	return indentedJSON(w, entries)
})

// Bencher Metric Format: benchmarks, of each its measures by their slugs.
var _ = register("bencher.json", func(w io.Writer, v *view.View) error {
	type metric struct {
		Value float64 `json:"value"`
		Low   float64 `json:"lower_value"`
		High  float64 `json:"upper_value"`
	}
	benchmarks := map[string]map[string]metric{}
	for _, t := range tracked(v) {
		if benchmarks[t.name] == nil {
			benchmarks[t.name] = map[string]metric{}
		}
		slug := strings.ToLower(strings.ReplaceAll(t.unit, "/", "-per-"))
		benchmarks[t.name][slug] = metric{t.middle(), t.values[0], t.values[len(t.values)-1]}
	}
	return indentedJSON(w, benchmarks)
})

// series is one number of one cell.
type series struct {
	name, unit string
	values     []float64 // of its trials, ascending; at least one
}

// middle is the median; of an even number the lower one, which was measured.
func (t *series) middle() float64 { return t.values[(len(t.values)-1)/2] }

// tracked are the numbers of all cells, as bench.txt names them.
func tracked(v *view.View) (all []*series) {
	at := map[string]*series{}
	for _, m := range v.Measured {
		for _, n := range m.Numbers {
			if !finite(n.Value) {
				continue
			}
			key := benchLabel(m) + " " + n.Unit
			if at[key] == nil {
				at[key] = &series{name: benchLabel(m), unit: n.Unit}
				all = append(all, at[key])
			}
			at[key].values = append(at[key].values, n.Value)
		}
	}
	for _, t := range all {
		slices.Sort(t.values)
	}
	return all
}

func indentedJSON(w io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", text)
	}
	return err
}
