package state

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

func TestAcquire_sharesOrRefuses(t *testing.T) {
	for _, row := range []struct {
		about         string
		first, second bool // exclusive
		refused       bool
	}{
		{"two without such faults", false, false, false},
		{"one with, beside one without", false, true, true},
		{"one without, beside one with", true, false, true},
		{"two with", true, true, true},
	} {
		t.Run(row.about, func(t *testing.T) {
			t.Setenv("ZKBENCH_STATE", t.TempDir())
			first, err := Acquire("one", "churn", row.first)
			check.OK(t, err)
			second, err := Acquire("one", "partition", row.second)
			if !row.refused {
				check.OK(t, err)
				check.OK(t, second())
			} else if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "(churn)") {
				t.Errorf("got %v, want it refused, and named who is in the way", err)
			}
			other, err := Acquire("other", "partition", true)
			check.OK(t, err)
			check.OK(t, other())
			check.OK(t, first())
			again, err := Acquire("one", "partition", true)
			check.OK(t, err)
			check.OK(t, again())
			if left, err := os.ReadDir(Dir()); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
