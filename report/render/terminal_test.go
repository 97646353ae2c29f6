package render

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/report/view"
)

func TestTerminal_fits(t *testing.T) {
	v := viewOf(t, "herd")
	for _, width := range []int{60, 80, 100, 200} {
		var b bytes.Buffer
		if err := Terminal(&b, v, Term{Width: width}); err != nil {
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

func TestTerminal_coloursWhereItMay(t *testing.T) {
	var plain, coloured bytes.Buffer
	v := viewOf(t, "broken")
	if err := Terminal(&plain, v, Term{}); err != nil {
		t.Fatal(err)
	}
	if err := Terminal(&coloured, v, Term{Color: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(coloured.String(), "\x1b[31m") {
		t.Error("colours where none were asked for, or none where they were")
	}
}

// A story fits the terminal, and says what broke, who did what, and which records prove it.
func TestTerminal_storyFits(t *testing.T) {
	h, err := history.Open("../verdict/testdata/corpus/zoo-worker-unsorted-newcomers.jsonl.zst")
	if err != nil {
		t.Fatal(err)
	}
	trial := report.Trial{Name: h.Header.Trial, Cell: h.Header.Cell}
	var stories []explain.Story
	for _, v := range verdict.Judge(h) {
		if v.Result == verdict.Fail {
			stories = append(stories, explain.Failure(h, trial, v))
		}
	}
	v := view.Of(view.Input{Result: report.Result{Trials: []report.Trial{trial}}, Stories: stories})
	for _, width := range []int{60, 100} {
		var b strings.Builder
		for _, s := range v.Stories {
			writeStory(&b, s, width)
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
		for _, want := range []string{"was broken by", "The promise: ", "Here: ", "█ believes that it holds", "  *  ", "zstdcat history/" + trial.Name} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("at width %d the story does not say %q:\n%s", width, want, &b)
			}
		}
	}
}
