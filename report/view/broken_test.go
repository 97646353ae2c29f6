package view

import "testing"

func TestName_subjectBySubject(t *testing.T) {
	trial := func(subject, at, text string, under ...string) Finding {
		return Finding{Of: subject, Where: subject + " at " + at, Text: text, Under: under}
	}
	cell := func(name, text string) Finding {
		return Finding{Of: "lock/a", Where: "lock/a, cell " + name, Text: text, Cell: name}
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
		{"histories that could not be read", []Finding{{Where: "one", Text: "played"}, {Where: "two", Text: "played"}}, "played in one; played in two"},
	} {
		if got := summarize(row.all); got != row.want {
			t.Errorf("%s: %q, want %q", row.about, got, row.want)
		}
	}
}
