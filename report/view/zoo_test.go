package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// judged is a trial with one verdict: guarantee and result.
func judged(name, subject string, clients int, guarantee, result string) report.Trial {
	return report.Trial{Name: name, Cell: history.Cell{Scenario: "s", Subject: subject, Clients: clients},
		Verdicts: []report.Verdict{{Guarantee: guarantee, Result: result, Reasons: []string{"because"}, Records: []int{1}}}}
}

// timed is a trial of 10 contenders whose hand-offs have this median.
func timed(name, subject, result string, p50 float64) report.Trial {
	x := judged(name, subject, 10, "fifo", result)
	x.Metrics = map[string]metrics.Metric{metrics.HandoffLatency: {Unit: "ns", Count: new(int64(600)), P50: &p50}}
	return x
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func headsOf(table Table) (heads []string) {
	for _, c := range table.Columns {
		heads = append(heads, c.Head)
	}
	return heads
}

// rowsOf are the rows of tables, each as one text.
func rowsOf(tables ...Table) (rows []string) {
	for _, table := range tables {
		for _, r := range table.Rows {
			rows = append(rows, strings.Join(r.Cells, "|"))
		}
	}
	return rows
}

func scorecardOf(explanations []explain.Explanation, trials ...report.Trial) *Table {
	return New(Input{Result: report.Result{Trials: trials}, Explanations: explanations}).Scorecard
}

func TestScorecard_hasTheWorstOfEachGuarantee(t *testing.T) {
	failed := judged("a-5", "lock/a", 5, "fifo", report.Fail)
	slow := judged("b-3", "lock/b", 3, "fencing", report.Pass)
	slow.Thresholds = []report.Threshold{{Expr: "handoff.latency.p50 < 5ms", Result: report.Fail, Measured: "9ms"}}
	card := scorecardOf([]explain.Explanation{{Trial: failed, GuaranteeName: "fifo"}},
		judged("a-3", "lock/a", 3, "fifo", report.Pass), failed, slow, judged("c-3", "lock/c", 3, "fifo", report.NotPromised),
		judged("d-3", "lock/d", 3, "fifo", report.NotJudged), judged("e-3", "lock/e", 3, "fifo", "splendid"))
	var got []string
	for i, row := range rowsOf(*card) {
		got = append(got, card.Rows[i].Result+": "+row)
	}
	equal(t, headsOf(*card), []string{"subject", "fencing", "fifo", "thresholds"})
	equal(t, got, []string{"fail: lock/a||X|", "fail: lock/b|ok||X", "pass: lock/c||-|", "pass: lock/d||.|", "unknown: lock/e||?|"})
	if link := card.Rows[0].Links[2]; link != "explanation-a-5-fifo" {
		t.Errorf("what failed leads to %q, not to its explanation", link)
	}
}

// Every mark leads to something that the page has.
func TestScorecard_leadsToProof(t *testing.T) {
	repeated := judged("a-3-2", "lock/a", 3, "fifo", report.Pass)
	repeated.Repetition = 2
	first := judged("a-3-1", "lock/a", 3, "fifo", report.Unknown)
	first.Repetition = 1
	v := New(Input{Result: report.Result{Trials: []report.Trial{first, repeated, judged("b-3", "lock/b", 3, "fencing", report.Fail)}}})
	ids := map[string]bool{}
	for _, s := range v.Sections {
		ids[s.ID] = true
		for _, b := range s.Blocks {
			if b.Table != nil {
				for _, r := range b.Table.Rows {
					ids[r.ID] = true
				}
			}
		}
	}
	led := 0
	for _, r := range v.Scorecard.Rows {
		for i, cell := range r.Cells[1:] {
			if link := r.Links[i+1]; cell != "" && (link == "" || !ids[link]) {
				t.Errorf("the mark %s of %s leads to %q, which is not there", cell, r.Cells[0], link)
			} else if cell != "" {
				led++
			}
		}
	}
	for _, f := range v.Findings {
		if f.Link != "" && !ids[f.Link] {
			t.Errorf("%s leads to %q, which is not there", f, f.Link)
		}
	}
	if led != 2 {
		t.Errorf("%d marks, want 2", led)
	}
}

// What is broken on purpose has a table of its own.
func TestScorecard_isNotOfAZoo(t *testing.T) {
	specimen := judged("z", "zoo/a", 3, "fifo", report.Fail)
	specimen.Script, specimen.Expect = "crowd", []string{"fifo"}
	sound := judged("l", "lock/a", 3, "fifo", report.Pass)
	sound.Script = "crowd"
	if card := scorecardOf(nil, specimen, sound); card != nil {
		t.Errorf("a scorecard of %d rows", len(card.Rows))
	}
}

func TestRanked_saysWhatMattersFirstAndOnce(t *testing.T) {
	v := New(Input{Result: report.Result{Run: report.Run{EndReason: "interrupted"}, Trials: []report.Trial{
		judged("a-3", "lock/a", 3, "fifo", report.Fail), judged("a-5", "lock/a", 5, "fifo", report.Fail), judged("b-3", "lock/b", 3, "fifo", report.Fail),
		judged("c-3", "lock/c", 3, "fifo", report.Unknown), judged("d-3", "lock/d", 3, "fencing", report.Fail), judged("e-3", "lock/e", 3, "progress", report.Fail),
	}}})
	first, rest := v.Ranked()
	var got []string
	for _, f := range slices.Concat(first, rest) {
		got = append(got, f.String())
	}
	equal(t, got, []string{
		"fencing in lock/d at 3 contenders: because", "fifo in lock/a at 3 contenders and 1 more trial: because",
		"fifo in lock/b at 3 contenders: because", "progress in lock/e at 3 contenders: because",
		"The run ended early (interrupted).", "fifo in lock/c at 3 contenders: because",
	})
	if len(first) != firstFindings {
		t.Errorf("%d come first", len(first))
	}
}

// The title and the finding of an explanation say under which fault it happened.
func TestVerdict_namesTheFault(t *testing.T) {
	failed := judged("a-3", "lock/a", 3, "fifo", report.Fail)
	v := New(Input{Result: report.Result{Run: report.Run{Command: "zkbench run s"}, Trials: []report.Trial{failed, judged("b-3", "lock/b", 3, "fifo", report.Pass)}},
		Explanations: []explain.Explanation{{Trial: failed, Label: "lock/a", GuaranteeName: "fifo", ActiveFaults: []string{"session.close"}}}})
	if want := "Failed (1 of 2 subjects): fifo in lock/a at 3 contenders, under session.close."; v.Verdict != want {
		t.Errorf("%q, want %q", v.Verdict, want)
	}
	if s := v.Explanations[0]; s.RerunCommand != "zkbench run s --subject lock/a" || s.Title != "fifo was broken by lock/a at 3 contenders, under session.close" {
		t.Errorf("%q, %q", s.Title, s.RerunCommand)
	}
}

// What was not played is why the rest could not be judged, and stands before it.
func TestView_beginsWithWhatWasNotPlayed(t *testing.T) {
	x := judged("t", "lock/a", 3, "fifo", report.Unknown)
	x.Verdicts = append(x.Verdicts, report.Verdict{Guarantee: verdict.Completed, Result: report.Unknown, Reasons: []string{"its driver exited"}})
	open := New(Input{Result: report.Result{Trials: []report.Trial{x}}}).FindingsOf(Undecided)
	if len(open) != 2 || open[0].Text != verdict.Completed || open[1].Text != "fifo" {
		t.Errorf("could not be judged: %v", open)
	}
}

func TestName_subjectBySubject(t *testing.T) {
	trial := func(subject, at, text string, under ...string) Finding {
		return Finding{Subject: subject, TrialName: subject + " at " + at, Text: text, Under: under}
	}
	cell := func(name, text string) Finding {
		return Finding{Subject: "lock/a", TrialName: "lock/a, cell " + name, Text: text, Cell: name}
	}
	for _, row := range []struct {
		about string
		all   []Finding
		want  string
	}{
		{"one guarantee of one trial", []Finding{trial("lock/a", "5 contenders", "fifo")}, "fifo in lock/a at 5 contenders"},
		{"two, and the faults of both", []Finding{trial("lock/a", "5", "fifo", "session.close"), trial("lock/a", "5", "progress", "session.close", "session.flap")},
			"fifo and progress in lock/a at 5, under session.close and session.flap"},
		{"two trials", []Finding{trial("lock/a", "5", "fifo"), trial("lock/a", "9", "fifo")}, "fifo in 2 trials, first in lock/a at 5"},
		{"cells", []Finding{cell("x", "fifo"), cell("x", "progress"), cell("y", "fifo")}, "lock/a: fifo in 2 cells and progress in 1 cell (first: x)"},
		{"more guarantees than there is room for", []Finding{trial("lock/a", "5", "a"), trial("lock/a", "5", "b"), trial("lock/a", "5", "c"), trial("lock/a", "5", "d")},
			"a, b, c and 1 more in lock/a at 5"},
		{"more subjects", []Finding{trial("lock/a", "5", "x"), trial("lock/b", "5", "x"), trial("lock/c", "5", "x"), trial("lock/d", "5", "x"), trial("lock/e", "5", "x")},
			"x in lock/a at 5; x in lock/b at 5; x in lock/c at 5; 2 more"},
		{"histories that could not be read", []Finding{{TrialName: "one", Text: "played"}, {TrialName: "two", Text: "played"}}, "played in one; played in two"},
	} {
		if got := summarize(row.all); got != row.want {
			t.Errorf("%s: %q, want %q", row.about, got, row.want)
		}
	}
}

func TestSize_saysWhoVotes(t *testing.T) {
	for _, row := range []struct {
		e    report.Ensemble
		want string
	}{
		{report.Ensemble{Members: 1}, "1 member"},
		{report.Ensemble{Members: 3, Observers: []string{"zk4"}}, "3 members and 1 observer"},
		{report.Ensemble{Members: 5, Observers: []string{"zk6", "zk7"}}, "5 members and 2 observers"},
	} {
		if got := size(row.e); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}
