package render

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/golden"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/report/view"
)

func TestTerminal_fits(t *testing.T) {
	v := viewOf(t, "herd")
	for _, width := range []int{60, 80, 100, 200} {
		text := terminal(t, v, Term{Width: width})
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("at width %d a line has %d characters: %q", width, n, line)
			}
		}
		if !strings.Contains(text, "hand-off p50") {
			t.Errorf("at width %d the most telling column is gone:\n%s", width, text)
		}
	}
}

// What passes, with as many subjects and client counts as a built-in scenario has, is one
// screen of a terminal.
func TestTerminal_fitsOneScreen(t *testing.T) {
	many := load(t, "herd")
	for _, x := range many.Trials {
		for i, subject := range []string{"election/parent", "election/predecessor", "queue/parent", "queue/predecessor"} {
			x.Subject, x.Name = subject, fmt.Sprint(x.Name, i)
			many.Trials = append(many.Trials, x)
		}
	}
	sound := load(t, "zoo")
	sound.Trials = slices.DeleteFunc(sound.Trials, func(t report.Trial) bool { return t.Outcome() != report.Pass })
	for about, r := range map[string]report.Result{"two subjects": load(t, "herd"), "six subjects, more cells than rows": many, "a zoo": sound} {
		text := terminal(t, view.New(view.Input{Result: r}), Term{Width: 80})
		if n := strings.Count(text, "\n"); n > 23 { // the prompt takes one of 24
			t.Errorf("%s: %d lines\n%s", about, n, text)
		}
		if last := strings.Split(strings.TrimSpace(text), "\n"); !strings.HasPrefix(last[len(last)-1], "Passed: ") {
			t.Errorf("%s: the verdict is not the last line:\n%s", about, text)
		}
	}
}

// What fails is one screen, too: what broke, in which subject, and where the rest is.
func TestTerminal_whatFailsFitsOneScreen(t *testing.T) {
	several := load(t, "broken")
	for i := range 12 {
		for _, x := range load(t, "broken").Trials {
			x.Subject, x.Name = fmt.Sprint("lock/mine-", i), fmt.Sprint(x.Name, i)
			several.Trials = append(several.Trials, x)
		}
	}
	for about, r := range map[string]report.Result{"one subject": load(t, "broken"), "a matrix of parameters": load(t, "matrix"), "thirteen subjects": several, "a zoo": load(t, "zoo")} {
		v := view.New(view.Input{Result: r, Dir: "zkbench-out/broken-20261122-091500"})
		v.HideExplanations()
		text := terminal(t, v, Term{Width: 80})
		if n := strings.Count(text, "\n"); n > 24 {
			t.Errorf("%s: %d lines\n%s", about, n, text)
		}
		if r.Outcome() == report.Fail && !strings.Contains(text, "\nFailed") {
			t.Errorf("%s: it does not say what failed:\n%s", about, text)
		}
	}
}

func TestTerminal_coloursWhereItMay(t *testing.T) {
	v := viewOf(t, "broken")
	if strings.Contains(terminal(t, v, Term{}), "\x1b") || !strings.Contains(terminal(t, v, Term{Color: true}), "\x1b[31m") {
		t.Error("colours where none were asked for, or none where they were")
	}
}

// A explanation fits the terminal, and says what broke, who did what, and which records prove it.
func TestTerminal_explanationFits(t *testing.T) {
	h, err := history.Open(filepath.Join(golden.Corpus(t, "../verdict/testdata/corpus.zip"), "zoo-worker-unsorted-newcomers.jsonl.zst"))
	must(t, err)
	trial := report.Trial{Name: h.Header.Trial, Cell: h.Header.Cell}
	var explanations []explain.Explanation
	for _, v := range verdict.Judge(h) {
		if v.Result == verdict.Fail {
			explanations = append(explanations, explain.Failure(h, trial, v))
		}
	}
	v := view.New(view.Input{Result: report.Result{Trials: []report.Trial{trial}}, Explanations: explanations})
	for _, width := range []int{60, 100} {
		var b strings.Builder
		for _, s := range v.Explanations {
			writeExplanation(&b, s, width)
		}
		for line := range strings.Lines(b.String()) {
			longest := 0
			for _, word := range strings.Fields(line) {
				longest = max(longest, utf8.RuneCountInString(word))
			}
			// A word that is longer than the line stays whole, like the path to copy.
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width && longest < width/2 {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
		for _, want := range []string{"was broken by", "Promise: ", "Violation: ", " * 1 ", "zstdcat history/" + trial.Name} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("at width %d the explanation does not say %q:\n%s", width, want, &b)
			}
		}
	}
}
