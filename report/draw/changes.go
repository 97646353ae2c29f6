package draw

import (
	"fmt"

	"zkbench/report"
	"zkbench/report/plot"
)

// changes draws what the repeated trials of a scenario say about its subjects
// beside their base.
func changes(scenario string, all []report.Comparison) *plot.Figure {
	var rows []plot.Change
	base := ""
	for _, c := range all {
		if c.Scenario != scenario {
			continue
		}
		base = c.Base
		row := plot.Change{Label: fmt.Sprintf("%s, %s, %d", c.Metric, c.Subject, c.Clients), Factor: c.Ratio.Center, Faint: c.Ratio.Low == nil}
		if c.Ratio.Low != nil {
			row.Low, row.High = *c.Ratio.Low, *c.Ratio.High
		}
		if c.Noise != nil {
			row.Noise = c.Noise.Center
		}
		rows = append(rows, row)
	}
	return plot.Changes("Beside "+base+", trial by trial",
		"Each row is one number of a subject over the same of "+base+", the median over neighbouring trials. At 0 % they are equal; "+
			"an interval that crosses it may be chance. Throughput is better on the right, everything else on the left.", rows, 0)
}
