package render

import (
	"bytes"
	"math"
	"testing"

	"github.com/zkbench/zkbench/report"
	"golang.org/x/perf/benchfmt"
)

func TestBench_isReadByBenchstat(t *testing.T) {
	r := benchfmt.NewReader(bytes.NewReader(written(t, report.BenchFile, viewOf(t, "herd"))), "bench.txt")
	results := 0
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("benchfmt refuses a line: %v", rec)
		case *benchfmt.Result:
			results++
			if v, ok := rec.Value("sec/handoff-p50"); string(rec.Name) == "Herd/subject=lock:parent/clients=100" && (!ok || math.Abs(v-0.031) > 1e-9) {
				t.Errorf("hand-off p50 = %v, %v, want 31 ms", v, ok)
			}
			if _, parts := rec.Name.Parts(); len(parts) != 2 || !bytes.HasPrefix(parts[0], []byte("/subject=lock:")) || !bytes.HasPrefix(parts[1], []byte("/clients=")) {
				t.Errorf("name %q parts into %q", rec.Name, parts)
			}
			if rec.GetConfig("goos") != "linux" {
				t.Errorf("goos = %q", rec.GetConfig("goos"))
			}
		}
	}
	must(t, r.Err())
	if results != 6 {
		t.Errorf("%d results, want 6", results)
	}
}
