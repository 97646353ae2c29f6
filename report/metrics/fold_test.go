package metrics

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

const ms = time.Millisecond

// folded folds a history, and returns what it measured.
func folded(h *history.History) (*Fold, map[string]Metric) {
	f := NewFold(h)
	beliefs := facts.NewBeliefs(h.Header, f.Belief)
	for n := range h.Records {
		beliefs.Add(n)
		f.Record(n)
	}
	beliefs.Close(f.Length())
	return f, f.Close()
}

func measure(h *history.History) map[string]Metric {
	_, m := folded(h)
	return m
}

// line builds histories that read like what happened; times in milliseconds.
type line struct{ records []history.Record }

func (b *line) add(r ...history.Record) *line {
	b.records = append(b.records, r...)
	return b
}

// phase is one in which the clients set the pace.
func (b *line) phase(name string, from, to int) *line {
	return b.phaseOf(name, "churn", history.ByClients, from, to)
}

func (b *line) drain(from, to int) *line {
	return b.phaseOf("drain", history.DrainPhase, history.ByHarness, from, to)
}

func (b *line) phaseOf(name, kind string, pace history.Pace, from, to int) *line {
	index := len(b.records)
	return b.add(&history.PhaseStart{At: time.Duration(from) * ms, Name: name, Index: index, Kind: kind, Pace: pace},
		&history.PhaseEnd{At: time.Duration(to) * ms, Name: name, Index: index})
}

func (b *line) hold(phase string, client int, token int64, call, granted, release int) *line {
	s := history.Sample{Client: client, Phase: phase, Op: history.Acquire, Due: time.Duration(call) * ms, Call: time.Duration(call) * ms,
		Return: time.Duration(granted) * ms, Outcome: history.OK, Token: token, Session: int64(100 + client), Path: "/n"}
	b.add(&s)
	if release > 0 {
		r := s
		r.Op, r.Call, r.Return = history.Release, time.Duration(release)*ms, time.Duration(release+1)*ms
		b.add(&r)
	}
	return b
}

// clock has the client's clock be wrong by so much: what the line says is what it read.
func (b *line) clock(wrong int, holds ...func(*line) *line) *line {
	first := len(b.records)
	for _, hold := range holds {
		hold(b)
	}
	for _, r := range b.records[first:] {
		s := r.(*history.Sample)
		s.Clock = time.Duration(wrong) * ms
		if s.Op == history.Acquire {
			s.Return += s.Clock
		} else {
			s.Call -= s.Clock
		}
	}
	return b
}

func holds(phase string, client int, token int64, call, granted, release int) func(*line) *line {
	return func(b *line) *line { return b.hold(phase, client, token, call, granted, release) }
}

func (b *line) session(event history.SessionEvent, client, at int) *line {
	return b.add(&history.Session{Event: event, Client: client, Session: int64(100 + client), At: time.Duration(at) * ms})
}

func (b *line) fault(client, from, to int) *line {
	return b.add(&history.Window{Fault: "session.close", Target: "holder", Client: client, Start: time.Duration(from) * ms, End: time.Duration(to) * ms, Proof: "p"})
}

// waiting is an acquire that is under way when its phase is over.
func (b *line) waiting(phase string, client, call, at int) *line {
	return b.add(&history.Waiting{At: time.Duration(at) * ms, Phase: phase, Client: client, Op: history.Acquire, Call: time.Duration(call) * ms})
}

func (b *line) history() *history.History {
	return history.Of(history.Header{Trial: "t", Cell: history.Cell{Subject: "lock/parent", Clients: 3}}, b.records...)
}

func (b *line) measure() map[string]Metric { return measure(b.history()) }

func TestFold_namesThePhaseOfADistributionThatOneAloneHas(t *testing.T) {
	one := new(line).phase("churn", 0, 100).hold("churn", 1, 5, 0, 10, 20)
	if m := one.measure()[AcquireLatency]; m.Phase != "churn" {
		t.Errorf("phase %q, want churn", m.Phase)
	}
	if m := one.phase("storm", 100, 200).hold("storm", 1, 6, 100, 110, 120).measure()[AcquireLatency]; m.Phase != "" {
		t.Errorf("phase %q of two", m.Phase)
	}
}
