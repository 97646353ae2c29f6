package text

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"github.com/zkbench/zkbench/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

func load(t *testing.T, name string) report.Result {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Result
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from its golden file; got:\n%s", name, got)
	}
}

// TestGolden compares everything that is written with what a person approved.
func TestGolden(t *testing.T) {
	for _, name := range []string{"herd", "broken", "empty", "zoo", "matrix"} {
		r := load(t, name)
		for ending, write := range map[string]func(io.Writer, report.Result) error{
			".md": Markdown, ".junit.xml": JUnit, ".bench.txt": Bench,
			".txt": func(w io.Writer, r report.Result) error { return Summary(w, r, Terminal{Width: 100}) },
		} {
			var b bytes.Buffer
			if err := write(&b, r); err != nil {
				t.Fatal(err)
			}
			golden(t, name+ending, b.Bytes())
		}
	}
}

func TestOutcome(t *testing.T) {
	verdict := func(results ...string) report.Trial {
		t := report.Trial{}
		for _, r := range results {
			t.Verdicts = append(t.Verdicts, report.Verdict{Guarantee: "g", Result: r})
		}
		return t
	}
	threshold := verdict(report.Pass)
	threshold.Thresholds = []report.Threshold{{Expr: "e", Result: report.Fail}}
	unprovenFault := verdict(report.Pass)
	unprovenFault.Faults = []report.Fault{{Fault: "f", Err: "no effect"}}
	for _, c := range []struct {
		name   string
		ended  string
		trials []report.Trial
		want   string
	}{
		{"everything passed", "", []report.Trial{verdict(report.Pass, report.Pass)}, report.Pass},
		{"one failure outweighs an unknown", "", []report.Trial{verdict(report.Unknown), verdict(report.Fail)}, report.Fail},
		{"a threshold fails like a verdict", "", []report.Trial{threshold}, report.Fail},
		{"one unknown is not a pass", "", []report.Trial{verdict(report.Pass), verdict(report.Unknown)}, report.Unknown},
		{"a result we do not know is not a pass", "", []report.Trial{verdict("splendid")}, report.Unknown},
		{"a trial without verdicts is not a pass", "", []report.Trial{verdict(report.Pass), verdict()}, report.Unknown},
		{"a fault without proof is not a pass", "", []report.Trial{unprovenFault}, report.Unknown},
		{"an interrupted run is not a pass", "interrupted", []report.Trial{verdict(report.Pass)}, report.Unknown},
		{"no trial is not a pass", "", nil, report.Unknown},
	} {
		r := report.Result{Run: report.Run{Ended: c.ended}, Trials: c.trials}
		if got := r.Outcome(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if a := Answers(r); c.want != report.Pass && strings.HasPrefix(a.Verdict, "Passed") {
			t.Errorf("%s: the answer says %q", c.name, a.Verdict)
		}
	}
}

func TestSummary_fitsTheTerminal(t *testing.T) {
	r := load(t, "herd")
	for _, width := range []int{60, 80, 100, 200} {
		var b bytes.Buffer
		if err := Summary(&b, r, Terminal{Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("at width %d a line has %d characters: %q", width, n, line)
			}
		}
		if !strings.Contains(b.String(), "hand-off p50") {
			t.Errorf("at width %d the most telling column is gone:\n%s", width, b.String())
		}
	}
}

func TestSummary_colour(t *testing.T) {
	var plain, coloured bytes.Buffer
	r := load(t, "broken")
	if err := Summary(&plain, r, Terminal{}); err != nil {
		t.Fatal(err)
	}
	if err := Summary(&coloured, r, Terminal{Color: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(coloured.String(), "\x1b[31m") {
		t.Error("colours where none were asked for, or none where they were")
	}
}

func TestJUnit_counts(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, load(t, "broken")); err != nil {
		t.Fatal(err)
	}
	var got junitRun
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("not well-formed: %v", err)
	}
	// Two broken; two unknown, one trial unjudged, one unproven fault, the end; one skipped fault; one pass.
	if got.Tests != 9 || got.Failures != 2 || got.Errors != 5 || got.Skipped != 1 {
		t.Errorf("tests %d, failures %d, errors %d, skipped %d; want 9, 2, 5, 1", got.Tests, got.Failures, got.Errors, got.Skipped)
	}
}

// TestJUnit_zoo: a provocation that a subject was to fail says nothing about another one
// that it was to stand.
func TestJUnit_zoo(t *testing.T) {
	r := load(t, "zoo")
	var b bytes.Buffer
	if err := JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	var got junitRun
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("not well-formed: %v", err)
	}
	if len(got.Suites) != len(r.Trials) {
		t.Errorf("%d suites of %d trials", len(got.Suites), len(r.Trials))
	}
	var failed []string
	seen := map[string]bool{}
	for _, s := range got.Suites {
		for _, k := range s.Cases {
			if seen[k.Class+k.Name] {
				t.Errorf("two cases are called %s %s", k.Class, k.Name)
			}
			seen[k.Class+k.Name] = true
			if k.Failure != nil {
				failed = append(failed, s.Name+": "+k.Class+": "+k.Name)
			}
		}
	}
	want := []string{
		"zoo-lock-go-zookeeper-holder-expires: zoo.lock/go-zookeeper_provocation=holder-expires.3: mutual-exclusion, provoked by holder-expires",
		"zoo-zoo-missed-wakeup-predecessor-leaves: zoo.zoo/missed-wakeup_provocation=predecessor-leaves.3: caught by progress, provoked by predecessor-leaves",
	}
	if !slices.Equal(failed, want) {
		t.Errorf("failed: %q, want %q", failed, want)
	}
}

// TestAnswers_matrix: whatever a sentence says, it says of which cell, and in which trial.
func TestAnswers_matrix(t *testing.T) {
	r := load(t, "matrix")
	a := Answers(r)
	all := strings.Join(append(append(a.Found, a.Verdict), Annotations(r)...), "\n")
	for _, want := range []string{
		"Failed: handoff.latency.p50 < 5ms in lock/parent session_timeout=10s at 5 contenders, trial 1 and 1 more trial (measured 5.28 ms); " +
			"progress in lock/parent session_timeout=10s at 5 contenders, trial 2 (nobody",
		"At 5 contenders, trial by trial, handoff.latency.p50 of lock/predecessor session_timeout=4s is 0.250",
		"At 5 contenders, trial by trial, handoff.latency.p50 of lock/predecessor session_timeout=10s is 0.270",
		"::handoff.latency.p50 < 5ms in lock/parent session_timeout=10s at 5 contenders, trial 1: measured 5.28 ms",
		"::handoff.latency.p50 < 5ms in lock/parent session_timeout=10s at 5 contenders, trial 2: measured 5.76 ms",
		"::progress in lock/parent session_timeout=10s at 5 contenders, trial 2: nobody",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q, but\n%s", want, all)
		}
	}
}

// TestBench_parses reads the file as benchstat does.
func TestBench_parses(t *testing.T) {
	var b bytes.Buffer
	if err := Bench(&b, load(t, "herd")); err != nil {
		t.Fatal(err)
	}
	r := benchfmt.NewReader(&b, "bench.txt")
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
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if results != 6 {
		t.Errorf("%d results, want 6", results)
	}
}
