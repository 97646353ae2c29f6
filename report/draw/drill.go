package draw

import (
	"slices"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/verdict"
)

// drills collects the first round of each succession: the others look alike.
type drills struct {
	all   []*plot.Drill
	round map[*plot.Drill]int
	terms map[string][]plot.Belief // by phase; of its first round
}

func (d *drills) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Joined:
		k := d.find(r.Phase)
		if k == nil {
			k = &plot.Drill{Phase: r.Phase}
			if d.round == nil {
				d.round, d.terms = map[*plot.Drill]int{}, map[string][]plot.Belief{}
			}
			d.all, d.round[k] = append(d.all, k), r.Round
		}
		if d.round[k] == r.Round {
			k.Line = append(k.Line, plot.Stand{Client: r.Client, From: r.At})
		}
	case *history.Leaving:
		if k := d.find(r.Phase); k != nil && d.round[k] == r.Round {
			leave(k, r)
		}
	}
}

func (d *drills) find(phase string) *plot.Drill {
	i := slices.IndexFunc(d.all, func(k *plot.Drill) bool { return k.Phase == phase })
	if i < 0 {
		return nil
	}
	return d.all[i]
}

// leave ends the client's time in the line, or, for client -1, the drill.
func leave(k *plot.Drill, n *history.Leaving) {
	k.End = n.At
	for i := range k.Line {
		s := &k.Line[i]
		if !s.Left && (n.Client < 0 || s.Client == n.Client) {
			s.To, s.Left = n.At, n.Client >= 0
		}
	}
}

// belief hears a term. Terms come after the joining of their candidates, or shortly
// before: they are told apart by phase and round.
func (d *drills) belief(b verdict.Belief) {
	if k := d.find(b.Phase); k != nil && d.round[k] == b.Round {
		d.terms[k.Phase] = append(d.terms[k.Phase], plot.Belief{Client: b.Client, Start: b.Start, End: b.End})
	}
}

// terms draws each drill that was brought to its end.
func (tr *trace) terms() []*plot.Figure {
	var out []*plot.Figure
	for _, k := range tr.lines.all {
		if k.End == 0 {
			continue
		}
		k.Trial, k.Label, k.Windows, k.Terms = tr.Trial, tr.Label, tr.Windows, tr.lines.terms[k.Phase]
		out = append(out, plot.Terms(*k))
	}
	return out
}
