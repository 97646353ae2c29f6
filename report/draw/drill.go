package draw

import (
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/plot"
)

// rounds collects the rounds of successions: who stood in line, and who was made to leave.
type rounds struct {
	all  []plot.Round
	last int // the number of the last one, in its phase
}

func (d *rounds) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Joined:
		if k := d.find(r.Phase, r.Round); k == nil {
			d.all, d.last = append(d.all, plot.Round{Phase: r.Phase}), r.Round
		}
		k := &d.all[len(d.all)-1]
		k.Line = append(k.Line, plot.Stand{Client: r.Client, From: r.At})
	case *history.Leaving:
		if k := d.find(r.Phase, r.Round); k != nil {
			leave(k, r)
		}
	}
}

// find returns the round that is under way, if it is this one.
func (d *rounds) find(phase string, round int) *plot.Round {
	if len(d.all) == 0 {
		return nil
	}
	if k := &d.all[len(d.all)-1]; k.Phase == phase && d.last == round {
		return k
	}
	return nil
}

// leave ends the client's time in the line, or, for client -1, the round.
func leave(k *plot.Round, r *history.Leaving) {
	k.End = r.At
	for i := range k.Line {
		s := &k.Line[i]
		if !s.Left && (r.Client < 0 || s.Client == r.Client) {
			s.To, s.Left = r.At, r.Client >= 0
		}
	}
}
