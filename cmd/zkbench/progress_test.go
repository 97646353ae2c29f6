package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/scenarios/stage"
)

func TestStatusLine(t *testing.T) {
	at := stage.Status{Trial: 3, Trials: 8, Subject: "lock/parent", Clients: 50, Phase: "churn", Detail: "4s of 10s"}
	for _, row := range []struct {
		about  string
		change func(*stage.Status)
		want   string
	}{
		{"nothing is known yet", func(*stage.Status) {}, "trial 3 of 8: lock/parent, 50 clients: churn 4s of 10s"},
		{"a fault and an estimate", func(s *stage.Status) { s.Left, s.Fault = 95*time.Second, "member.kill on zk2" }, "churn 4s of 10s, FAULT member.kill on zk2, about 2 min left"},
		{"the last moments", func(s *stage.Status) { s.Left = 100 * time.Millisecond }, "about 1 s left"},
		{"long runs", func(s *stage.Status) { s.Left = 100 * time.Minute }, "about 1.7 h left"},
		{"records are dropped", func(s *stage.Status) { s.Lost = 2 }, "2 records DROPPED"},
		{"trials that take turns are one", func(s *stage.Status) { s.First, s.Last, s.Beside = 3, 4, "lock/parent beside lock/b" },
			"trials 3-4 of 8: lock/parent beside lock/b, 50 clients: churn 4s of 10s"},
		{"before the first phase", func(s *stage.Status) { s.Phase, s.Detail = "", "opening sessions" }, "50 clients: opening sessions"},
		{"before the first trial", func(s *stage.Status) { *s = stage.Status{Phase: "warm-up"} }, "warm-up"},
	} {
		s := at
		row.change(&s)
		if got := statusLine(heading(s), s); !strings.HasSuffix(got, row.want) {
			t.Errorf("%s: got\n%q, want\n%q", row.about, got, row.want)
		}
	}
}

// Where nobody can repaint a line, each phase and each fault is one line, once.
func TestProgress_status_plainLines(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b, false)
	for _, s := range []stage.Status{
		{Trial: 1, Trials: 2, Phase: "drain"}, {Trial: 1, Trials: 2, Phase: "drain", Detail: "round 2"},
		{Trial: 1, Trials: 2, Phase: "churn"}, {Trial: 1, Trials: 2, Phase: "churn", Fault: "session.close"},
		{Trial: 1, Trials: 2, Phase: "churn", Fault: "session.close"}, {Trial: 1, Trials: 2, Phase: "churn"},
	} {
		p.status(s)
	}
	if got := strings.Count(b.String(), "\n"); got != 3 || strings.Count(b.String(), "fault: session.close") != 1 {
		t.Errorf("want a line for drain, one for churn, one for the fault:\n%s", b.String())
	}
	b.Reset()
	p = newProgress(&b, false)
	for _, trial := range []int{1, 2, 1, 2, 1} {
		p.status(stage.Status{Trial: trial, Trials: 4, First: 1, Last: 2, Beside: "lock/a beside lock/b", Phase: "drain"})
	}
	p.status(stage.Status{Trial: 2, Trials: 4, Subject: "lock/b", Phase: "drain", Over: true})
	if got := strings.Count(b.String(), "\n"); got != 1 || !strings.Contains(b.String(), "trials 1-2 of 4: lock/a beside lock/b") {
		t.Errorf("want one line for the two that take turns:\n%s", b.String())
	}
	b.Reset()
	p = newProgress(&b, true)
	p.status(stage.Status{Phase: "drain"})
	p.log("something")
	if b.Len() > 0 {
		t.Errorf("--quiet says %q", b.String())
	}
}

// Trials that run at the same time, as in a zoo: each begins once, and the line is not
// snatched from the one that it shows until that one is over.
func TestProgress_hear(t *testing.T) {
	p := newProgress(io.Discard, false)
	for _, row := range []struct {
		about       string
		s           stage.Status
		news, shows bool
	}{
		{"the warm-up", stage.Status{Phase: "warm-up"}, true, true},
		{"one begins", stage.Status{Trial: 1, Phase: "provoke"}, true, true},
		{"another begins", stage.Status{Trial: 2, Phase: "provoke"}, true, true},
		{"the one goes on", stage.Status{Trial: 1, Phase: "provoke"}, false, false},
		{"the other goes on", stage.Status{Trial: 2, Phase: "provoke"}, false, true},
		{"the other is over", stage.Status{Trial: 2, Phase: "provoke", Over: true}, false, false},
		{"the one has the line", stage.Status{Trial: 1, Phase: "provoke"}, false, true},
		{"and is over", stage.Status{Trial: 1, Phase: "provoke", Over: true}, false, false},
		{"the next warm-up", stage.Status{Phase: "warm-up"}, true, true},
		{"the scenario is run again", stage.Status{Trial: 1, Phase: "provoke"}, true, true},
		{"the first of a pair drains", stage.Status{Trial: 3, First: 3, Last: 4, Beside: "a beside b", Phase: "drain"}, true, true},
		{"the second opens its sessions", stage.Status{Trial: 4, First: 3, Last: 4, Beside: "a beside b"}, false, true},
		{"the second drains", stage.Status{Trial: 4, First: 3, Last: 4, Beside: "a beside b", Phase: "drain"}, false, true},
	} {
		if news, shows := p.updateHeading(heading(row.s), row.s); news != row.news || shows != row.shows {
			t.Errorf("%s: news %v, shown %v; want %v and %v", row.about, news, shows, row.news, row.shows)
		}
	}
}

// What a driver, a file or a server says moves no cursor, and is no command of a CI system.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                          "plain",
		"a\nb":                           "a\nb",
		"\x1b[2Jgone":                    "\uFFFD[2Jgone",
		"said:\n::error::not ours":       "said:\n| ::error::not ours",
		"said:\n  ::set-output name=x::": "said:\n|   ::set-output name=x::",
		"##[error]not ours":              "| ##[error]not ours",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	var out bytes.Buffer
	w := &sanitizingWriter{Writer: &out}
	for _, part := range []string{"at ::1, ", "::error::\x1b[2J\n", "::error::x\n"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := out.String(), "at ::1, ::error::\uFFFD[2J\n| ::error::x\n"; got != want {
		t.Errorf("%q is written, want %q", got, want)
	}
	out.Reset()
	newProgress(&out, false).log("driver: %s", "\x1b[31mred\n::error::x")
	if got := out.String(); strings.Contains(got, "\x1b") || strings.Contains(got, "\n::") {
		t.Errorf("the log has %q", got)
	}
}
