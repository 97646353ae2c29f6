package spec_test

import (
	"testing"

	_ "github.com/zkbench/zkbench/scenarios" // registers the kinds of phase
	"github.com/zkbench/zkbench/scenarios/spec"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, text string, overrides ...string) *spec.Scenario {
	t.Helper()
	s, err := spec.Load("x", []byte(text), overrides...)
	must(t, err)
	return s
}

func cellsOf(t *testing.T, s *spec.Scenario) []spec.Cell {
	t.Helper()
	cells, err := s.Cells()
	must(t, err)
	return cells
}

// source returns the text of a built-in scenario.
func source(name string) string {
	_, text, _ := spec.Source(name)
	return string(text)
}
