package report

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// Round is a round of a succession: which clients waited in line, and which had to leave.
type Round struct {
	Phase  string // determines how clients leave
	Number int
	Line   []Stand
	End    time.Duration // of the round; 0 if it did not end
}

// Stand is the time during which one client was in the line.
type Stand struct {
	Client   int
	From, To time.Duration // To is when the client had to leave, or the end of the round
	Left     bool          // the client had to leave
}

// rounds collects the rounds of successions, which follow each other.
type rounds struct{ all []Round }

func (d *rounds) record(r history.Record) {
	switch r := r.(type) {
	case *history.Joined:
		x := d.current(r.Phase, r.Round)
		if x == nil {
			d.all = append(d.all, Round{Phase: r.Phase, Number: r.Round})
			x = &d.all[len(d.all)-1]
		}
		x.Line = append(x.Line, Stand{Client: r.Client, From: r.At})
	case *history.Leaving:
		if x := d.current(r.Phase, r.Round); x != nil {
			x.leave(r)
		}
	}
}

// current returns the last round if it is this one, else nil.
func (d *rounds) current(phase string, number int) *Round {
	if len(d.all) == 0 {
		return nil
	}
	if x := &d.all[len(d.all)-1]; x.Phase == phase && x.Number == number {
		return x
	}
	return nil
}

// leave ends the client's time in the line, or the round if the client is -1.
func (x *Round) leave(r *history.Leaving) {
	x.End = r.At
	for i := range x.Line {
		s := &x.Line[i]
		if !s.Left && (r.Client < 0 || s.Client == r.Client) {
			s.To, s.Left = r.At, r.Client >= 0
		}
	}
}
