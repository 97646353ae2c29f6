package view

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// causes returns, for each trial with failovers, a table with a row for each way in which the holder
// was removed.
func (b builder) causes() (out []Block) {
	for _, t := range b.trials {
		trace := b.trace(t.Name)
		if len(trace.Failovers) == 0 {
			continue
		}
		table := Table{Columns: []Column{{Head: "the holder is removed by"}, {Head: "rounds", Kind: Number}, {Head: "next grant after (min to max)", Kind: Number}, {Head: "p50", Kind: Number},
			{Head: "predicted", Kind: Number}, {Head: "no holder for (min to max)", Kind: Number}}}
		for _, rounds := range matrix.Group(trace.Failovers, func(r metrics.Failover) string { return r.Phase }) {
			table.Rows = append(table.Rows, Row{Cells: causeCells(rounds[0].Phase, rounds, trace)})
		}
		block := Block{Table: &table}
		if len(b.trials) > 1 {
			block.Fold, block.Open = trialLabel(t.Subject, t), true
		}
		out = append(out, block)
	}
	return out
}

func causeCells(cause string, rounds []metrics.Failover, trace *report.Trace) []string {
	var latency, nobody []float64
	least, most := rounds[0].Least, time.Duration(0)
	count := strconv.Itoa(len(rounds))
	for _, r := range rounds {
		least, most = min(least, r.Least), max(most, r.Most)
		if !r.Never {
			latency = append(latency, float64(r.Latency))
		}
		if i := slices.IndexFunc(trace.Handoffs, func(h metrics.Handoff) bool { return h.At >= r.At }); i >= 0 && !r.Never && !r.Kept {
			nobody = append(nobody, float64(trace.Handoffs[i].Nobody))
		}
	}
	if never := len(rounds) - len(latency); never > 0 {
		count += fmt.Sprintf(" (%d without a grant)", never)
	}
	middle := ""
	if m, ok := stats.Middle(latency); ok {
		middle = units.Duration(m)
	}
	return []string{cause, count, between(latency), middle, between([]float64{float64(least), float64(most)}), between(nobody)}
}

func between(ns []float64) string {
	if len(ns) == 0 {
		return ""
	}
	least, most := units.Duration(slices.Min(ns)), units.Duration(slices.Max(ns))
	if least == most {
		return least
	}
	return least + " to " + most
}
