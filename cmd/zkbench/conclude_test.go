package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/scenarios"
)

// A run that broke its threshold says so by its exit code, also where nothing can be drawn.
func TestConclude_aFailureCountsMoreThanADrawing(t *testing.T) {
	for _, row := range []struct {
		about     string
		threshold string
		want      int
	}{
		{"a threshold failed", "throughput > 99999", exitBroken},
		{"all is well but the drawing", "verdicts == pass", exitUnknown},
	} {
		t.Run(row.about, func(t *testing.T) {
			dir := savedRun(t)
			if row.threshold != "verdicts == pass" {
				inHistory("verdicts == pass", row.threshold)(t, dir)
			}
			result, err := report.Conclude(dir, report.Run{ID: "run"})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			err = errors.Join(errors.New("nothing can be drawn"), new(runFlags).conclude(cmd, dir, &scenarios.Scenario{}, result))
			if got := codeOf(err); got != row.want {
				t.Errorf("exit code %d, want %d: %v\n%s", got, row.want, err, &out)
			}
		})
	}
}
