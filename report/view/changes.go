package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
)

// changes plots the comparisons of a scenario's subjects with their base.
func changes(scenario string, all []report.Comparison) *plot.Figure {
	all = slices.DeleteFunc(slices.Clone(all), func(c report.Comparison) bool { return c.Scenario != scenario })
	if len(all) == 0 {
		return nil
	}
	base, label := all[0].Base, rowLabels(all)
	title := "Compared with " + base + ", trial by trial"
	if len(distinct(all, subjectOf)) == 1 {
		title = subjectOf(all[0]) + " compared with " + base + ", trial by trial"
	}
	if len(distinct(all, clientsOf)) == 1 {
		title += ", at " + clientsOf(all[0])
	}
	var rows []plot.Change
	for _, c := range all {
		row := plot.Change{Label: label(c), Factor: c.Ratio.Center, Faint: c.Ratio.Low == nil}
		if c.Ratio.Low != nil {
			row.Low, row.High = *c.Ratio.Low, *c.Ratio.High
		}
		if c.Noise != nil {
			row.Noise = c.Noise.Center
		}
		rows = append(rows, row)
	}
	return plot.Changes(title,
		"Each row is a number of a subject divided by the same number of "+base+": the median over pairs of adjacent trials. At 0 % they are equal; "+
			"if the interval crosses 0 %, the difference may be chance. Throughput is better on the right, everything else on the left.", rows, 0)
}

// rowLabels returns a function that labels the rows: the cell, then the metric. The cell comes
// first because long labels are cut at their end. A subject or number of clients that all rows
// share is only in the title.
func rowLabels(all []report.Comparison) func(report.Comparison) string {
	var cells []report.Trial
	for _, c := range all {
		cells = append(cells, report.Trial{Cell: c.Cell})
	}
	names := matrix.NamesOf(cells)
	oneSubject, oneCount := len(distinct(all, subjectOf)) == 1, len(distinct(all, clientsOf)) == 1
	return func(c report.Comparison) string {
		label := names.Label(c.Cell)
		if oneSubject {
			label = strings.TrimPrefix(label, subjectOf(c))
		}
		parts := []string{strings.TrimSpace(label)}
		if !oneCount {
			parts = append(parts, fmt.Sprint(c.Clients))
		}
		parts = append(parts, c.Metric)
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
	}
}

func subjectOf(c report.Comparison) string { return units.Clean(c.Subject) }

func clientsOf(c report.Comparison) string { return units.Plural(c.Clients, "contender") }

// distinct returns the distinct values.
func distinct(all []report.Comparison, of func(report.Comparison) string) []string {
	var out []string
	for _, c := range all {
		if v := of(c); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
