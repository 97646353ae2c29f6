package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/report"
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
			if err := os.WriteFile(filepath.Join(dir, report.PlotDir), nil, 0o644); err != nil { // where a folder has to be
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			err := new(runFlags).conclude(cmd, dir, report.Run{ID: "run"})
			if got := codeOf(err); got != row.want {
				t.Errorf("exit code %d, want %d: %v\n%s", got, row.want, err, &out)
			}
		})
	}
}
