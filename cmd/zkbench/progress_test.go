package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"zkbench/scenarios"
)

func TestStatusLine(t *testing.T) {
	at := scenarios.Status{Trial: 3, Trials: 8, Subject: "lock/parent", Clients: 50, Phase: "churn", Detail: "4s of 10s"}
	for _, row := range []struct {
		about  string
		change func(*scenarios.Status)
		want   string
	}{
		{"nothing is known yet", func(*scenarios.Status) {}, "trial 3 of 8: lock/parent, 50 clients: churn 4s of 10s"},
		{"a rate and a guess", func(s *scenarios.Status) { s.Rate, s.Left = 123.4, 95*time.Second }, "churn 4s of 10s, 123 grants/s, about 2 min left"},
		{"a fault comes before what may be cut off", func(s *scenarios.Status) { s.Rate, s.Fault = 5, "member.kill on zk2" }, "churn 4s of 10s, FAULT member.kill on zk2, 5 grants/s"},
		{"the last moments", func(s *scenarios.Status) { s.Left = 100 * time.Millisecond }, "about 1 s left"},
		{"long runs", func(s *scenarios.Status) { s.Left = 100 * time.Minute }, "about 1.7 h left"},
		{"records are dropped", func(s *scenarios.Status) { s.Lost = 2 }, "2 records DROPPED"},
		{"before the first trial", func(s *scenarios.Status) { *s = scenarios.Status{Phase: "warm-up"} }, "warm-up"},
	} {
		t.Run(row.about, func(t *testing.T) {
			s := at
			row.change(&s)
			if got := statusLine(heading(s), s); !strings.HasSuffix(got, row.want) {
				t.Errorf("got  %q\nwant %q", got, row.want)
			}
		})
	}
}

// Where nobody can repaint a line, each phase and each fault is one line, once.
func TestProgress_status_plainLines(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b, false)
	for _, s := range []scenarios.Status{
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
	p = newProgress(&b, true)
	p.status(scenarios.Status{Phase: "drain"})
	p.log("something")
	if b.Len() > 0 {
		t.Errorf("--quiet says %q", b.String())
	}
}
