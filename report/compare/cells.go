package compare

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

type cell struct {
	name   string
	trials []report.Trial
	bases  map[int]report.Trial // by repetition; nil without a base
	base   string
}

// cells groups trials by cell. The keys omit parameters that do not vary within a run, so that cells
// of two runs match although such a parameter differs.
func cells(trials []report.Trial) map[string]cell {
	out := map[string]cell{}
	for _, s := range matrix.Of(trials) {
		for _, x := range s.Series {
			for _, n := range s.Counts {
				at := x.At(n)
				if len(at) == 0 {
					continue
				}
				name := fmt.Sprintf("%s, %s, %s", s.Name, x.Label, units.Plural(n, "client"))
				k := fmt.Sprintf("%s\x00%06d\x00%s", s.Name, n, x.Label)
				c := cell{name: name, trials: at, base: at[0].Base}
				if c.base != "" && c.base != at[0].Subject {
					c.bases = report.Repetitions(trials, c.base, at[0].Cell)
				}
				out[k] = c
			}
		}
	}
	return out
}

func onlyIn(has, lacks map[string]cell) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(has)) {
		if _, both := lacks[key]; !both {
			out = append(out, has[key].name)
		}
	}
	return out
}

func (c *Comparison) cell(old, new cell, o Options) []Row {
	var rows []Row
	add := func(r Row, ok bool) {
		if ok {
			r.Cell = new.name
			rows = append(rows, r)
		}
	}
	for _, g := range guaranteeRows(old.trials, new.trials) {
		add(g, true)
	}
	for _, d := range metrics.All() {
		if d.Exact {
			add(count(old.trials, new.trials, d.Name, d.Slack, c.Limit))
		}
	}
	relative := old.base != "" && old.base == new.base
	for _, m := range slices.Concat(shownMeasures(), o.Measures) {
		decides := slices.Contains(o.Measures, m)
		if slices.ContainsFunc(rows, func(r Row) bool { return r.What == m.String() }) {
			continue
		}
		if relative && len(old.bases) > 0 && len(new.bases) > 0 {
			r, ok := compareSamples(m, old.ratios(m), new.ratios(m))
			r.What, r.Unit, r.Decides = m.String()+" over "+new.base, "1", decides
			add(r, ok)
			decides = decides && !ok
		}
		decides = decides && !(relative && old.trials[0].Subject == old.base)
		if r, ok := incomparable(old.trials, new.trials, m); ok {
			r.Decides = decides
			add(r, true)
			continue
		}
		r, ok := compareSamples(m, values(old.trials, m), values(new.trials, m))
		r.Unit, r.Decides = unit(new.trials, m), decides
		add(r, ok)
	}
	return rows
}
