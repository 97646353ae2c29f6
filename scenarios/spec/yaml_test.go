package spec_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/zkbench/zkbench/recipes/zoo"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// Each file in testdata/wrong has one problem a line that ends in "# want: TEXT", and
// each of them must be named, in that line, and nothing else.
func TestLoad_namesEveryProblemInItsPlace(t *testing.T) {
	files, err := filepath.Glob("testdata/wrong/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			must(t, err)
			_, err = spec.Load(file, text)
			var ms spec.Problems
			if !errors.As(err, &ms) {
				t.Fatalf("no problems are found: %v", err)
			}
			named := map[int]string{}
			for _, m := range ms {
				if _, twice := named[m.Line]; twice || m.Column < 1 {
					t.Errorf("line %d is named twice, or has no column: %v", m.Line, m)
				}
				named[m.Line] = m.Error()
			}
			for i, line := range strings.Split(string(text), "\n") {
				_, want, ok := strings.Cut(line, "# want: ")
				if !ok {
					if named[i+1] != "" {
						t.Errorf("line %d is right, and it says %s", i+1, named[i+1])
					}
					continue
				}
				if !strings.Contains(named[i+1], want) {
					t.Errorf("line %d: want %q, got %q", i+1, want, named[i+1])
				}
			}
		})
	}
}

// Three lines can stand for nine million faults.
func TestLoad_refusesAliasesThatMultiply(t *testing.T) {
	const n = 3000
	text := "name: many\nphases:\n  - &p {name: churn, kind: churn, faults: [&f {at: 1s, fault: session.close}" +
		strings.Repeat(", *f", n) + "]}\n" + strings.Repeat("  - *p\n", n)
	_, err := spec.Load("many.yaml", []byte(text))
	if err == nil || !strings.Contains(err.Error(), "more than 200000 values, with those that aliases repeat") {
		t.Errorf("%.300v", err)
	}
}
