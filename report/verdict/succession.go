package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict/internal/finding"
)

// succession checks a drill: clients join a line one after the other, and are made to leave it.
// Whenever the next client is about to leave, and when the drill ends, the leader must be the first
// remaining client, and no other remaining client may have led since the last departure. A client that
// has left may still believe that it leads: mutual-exclusion checks that.
//
// The history has the clients that joined, in the order of their nodes, and the clients that were made to
// leave, so the expected leaders (0, 1, 2, 2, 2, 5 in the classic drill) follow from the history alone.
type succession struct {
	rounds []*successionRound
}

type successionRound struct {
	phase  string
	round  int
	start  time.Duration
	line   []candidate // in the order of their nodes
	checks []check
	terms  []facts.Belief
	over   bool
}

type candidate struct {
	client int
	token  int64
	left   time.Duration // when it was made to leave; 0: it remains
	record int
}

type check struct {
	at     time.Duration
	first  int // index in the line of the client that must lead; -1 for none
	after  string
	record int
}

func newSuccession(*inputs) checker {
	s := &succession{}
	return checker{record: s.record, belief: s.belief, finish: s.finish}
}

func (s *succession) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Joined:
		d := s.find(r.Phase, r.Round)
		if d == nil {
			d = &successionRound{phase: r.Phase, round: r.Round, start: r.At}
			s.rounds = append(s.rounds, d)
		}
		d.joined(r, n.N)
	case *history.Leaving:
		if d := s.find(r.Phase, r.Round); d != nil && !d.over {
			d.leaving(r, n.N)
		}
	}
}

func (s *succession) find(phase string, round int) *successionRound {
	for _, d := range slices.Backward(s.rounds) {
		if d.phase == phase && d.round == round {
			return d
		}
	}
	return nil
}

func (d *successionRound) joined(n *history.Joined, record int) {
	i := len(d.line)
	for i > 0 && d.line[i-1].token > n.Token {
		i--
	}
	d.line = slices.Insert(d.line, i, candidate{client: n.Client, token: n.Token, record: record})
}

// leaving records which client must lead now, before the client leaves.
func (d *successionRound) leaving(n *history.Leaving, record int) {
	c := check{at: n.At, first: -1, record: record, after: "after all candidates had joined"}
	var last time.Duration
	for i, k := range d.line {
		if k.left == 0 && c.first < 0 {
			c.first = i
		}
		if k.left > last {
			last, c.after = k.left, fmt.Sprintf("after client %d had left at %v", k.client, k.left)
		}
	}
	d.checks = append(d.checks, c)
	d.over = n.Client < 0
	for i := range d.line {
		if d.line[i].client == n.Client {
			d.line[i].left = n.At
		}
	}
}

func (s *succession) belief(b facts.Belief) {
	if d := s.find(b.Phase, b.Round); d != nil {
		d.terms = append(d.terms, b)
	}
}

func (s *succession) finish(end ending) Verdict {
	if end.truncated {
		return notJudged("it is unknown which client led at the end")
	}
	var broken evidence
	var doubts []string
	led := map[string][]string{}
	var phases []string
	for _, d := range s.rounds {
		leaders := d.judge(&broken, &doubts)
		if led[d.phase] == nil {
			phases = append(phases, d.phase)
		}
		if !slices.Contains(led[d.phase], leaders) {
			led[d.phase] = append(led[d.phase], leaders)
		}
	}
	switch {
	case len(s.rounds) == 0:
		return notJudged("no phase removed leaders in a known order")
	case broken.Count > 0:
		return broken.Fail("wrong leaders")
	case len(doubts) > 0:
		return unknown(doubts[:min(len(doubts), finding.Limit)]...)
	}
	var passed []string
	for _, p := range phases {
		passed = append(passed, fmt.Sprintf("%s: leaders %s", p, strings.Join(led[p], " and ")))
	}
	return pass(passed...)
}

// judge compares the drill's terms with its checks, and returns the leaders as text.
func (d *successionRound) judge(broken *evidence, doubts *[]string) string {
	if len(d.checks) == 0 {
		*doubts = append(*doubts, fmt.Sprintf("in round %d of %s no leader was removed", d.round, d.phase))
	} else if !d.over {
		*doubts = append(*doubts, fmt.Sprintf("round %d of %s was not completed", d.round, d.phase))
	}
	var leaders []string
	from := d.start
	for _, c := range d.checks {
		leaders = append(leaders, d.judgeAt(c, from, broken, doubts))
		from = c.at
	}
	return strings.Join(leaders, ", ")
}

// judgeAt checks the time from the last check until this one, and returns the leader.
func (d *successionRound) judgeAt(c check, from time.Duration, broken *evidence, doubts *[]string) string {
	due := candidate{client: -1}
	if c.first >= 0 {
		due = d.line[c.first]
	}
	leads, who, doubt := false, "no client led", ""
	for _, b := range d.terms {
		// Some clients wait with one node, and hold with another: then the token is of no node in line.
		inLine := slices.ContainsFunc(d.line, func(k candidate) bool { return k.token == b.Token })
		remains := slices.ContainsFunc(d.line, func(k candidate) bool {
			return k.client == b.Client && (k.left == 0 || k.left >= c.at)
		})
		switch {
		case b.Start > c.at || b.End < from:
		case b.Client == due.client && (b.Token == 0 || b.OwnToken || b.Token == due.token || !inLine):
			leads = leads || b.End >= c.at
			if b.End < c.at && (b.EndReason == string(history.Suspended) || b.EndReason == string(history.Deadline)) {
				doubt = fmt.Sprintf("client %d led, but its leadership ended (%s) at %v", b.Client, b.EndReason, b.End)
			}
		case remains:
			who = fmt.Sprintf("client %d did not lead", due.client)
			broken.Add([]int{b.Record, c.record}, "%s, round %d: %s, client %d led from %v (record %d), although %s",
				d.phase, d.round, c.after, b.Client, b.Start, b.Record, due.first())
		}
	}
	switch {
	case leads:
		return strconv.Itoa(due.client)
	case due.client < 0:
		return "none"
	case doubt != "":
		*doubts = append(*doubts, fmt.Sprintf("%s, round %d: %s", d.phase, d.round, doubt))
		return "?"
	}
	broken.Add([]int{due.record, c.record}, "%s, round %d: %s, up to %v (record %d) %s, although %s",
		d.phase, d.round, c.after, c.at, c.record, who, due.first())
	return "none"
}

func (k candidate) first() string {
	if k.client < 0 {
		return "no candidate was in line"
	}
	return fmt.Sprintf("client %d was the first in line (token %d, record %d)", k.client, k.token, k.record)
}
