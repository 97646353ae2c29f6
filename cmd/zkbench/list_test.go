package main

import (
	"strings"
	"testing"
)

// Incidents are read on a terminal: no line is longer than 80 columns, but an address is not
// broken.
func TestListIncidents_fits(t *testing.T) {
	var b strings.Builder
	if err := listIncidents(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "introduced in: 2.8.0") {
		t.Errorf("no incident has the version with which the bug came:\n%s", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimRight(line, "\n"); len(line) > 80 && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestListFaults_showsParameters(t *testing.T) {
	var b strings.Builder
	if err := listFaults(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"param delay (", "param as (none): subject that the clients run"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}
