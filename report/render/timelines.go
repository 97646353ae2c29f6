package render

import (
	"encoding/json"
	"fmt"
	"html/template"
	"time"

	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

type timeline struct {
	Title    string     `json:"title"`
	Says     string     `json:"says"`
	From     int64      `json:"from"`
	To       int64      `json:"to"`
	Held     [][4]int64 `json:"held"`     // client, from, to, 1 for reading
	Overlaps [][5]int64 `json:"overlaps"` // client, client, from, to, 1 for exposure
	Windows  []window   `json:"windows"`
	Stands   []stand    `json:"stands"`
	Gaps     [][2]int64 `json:"gaps"` // from, to
}

type window struct {
	Fault  string `json:"fault"`
	Target string `json:"target"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Proven bool   `json:"proven"`
}

type stand struct {
	Phase  string `json:"phase"`
	Client int    `json:"client"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Left   bool   `json:"left"`
}

func (p *page) timelines() error {
	var all []timeline
	for _, s := range p.Sections {
		for _, block := range s.Blocks {
			for _, t := range block.Timelines {
				all = append(all, encodeTimeline(t))
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	data, err := json.Marshal(all) // escapes <, > and &, so nothing in it can end the script element
	if err != nil {
		return fmt.Errorf("%s: timelines: %w", p.Page, err)
	}
	p.Data = template.JS(data)
	return nil
}

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

func encodeTimeline(t view.Timeline) timeline {
	us := time.Duration.Microseconds
	out := timeline{Title: t.Title, Says: t.Says, From: us(t.From), To: us(t.To), Held: [][4]int64{}, Overlaps: [][5]int64{}, Windows: []window{}, Stands: []stand{}, Gaps: [][2]int64{}}
	for _, b := range t.Held {
		out.Held = append(out.Held, [4]int64{int64(b.Client), us(b.Start), us(b.End), flag(b.Reads)})
	}
	for _, o := range t.Overlaps {
		out.Overlaps = append(out.Overlaps, [5]int64{int64(o.Older), int64(o.Newer), us(o.Start), us(o.End), flag(o.Exposure)})
	}
	for _, w := range t.Faults {
		out.Windows = append(out.Windows, window{units.Clean(w.Fault), units.Clean(w.Target), us(w.Start), us(max(w.Start, w.End)), w.Proof != ""})
	}
	for _, r := range t.Rounds {
		for _, s := range r.Line {
			out.Stands = append(out.Stands, stand{units.Clean(r.Phase), s.Client, us(s.From), us(max(s.From, s.To)), s.Left})
		}
	}
	for _, g := range t.Gaps {
		out.Gaps = append(out.Gaps, [2]int64{us(g.From), us(g.To)})
	}
	return out
}
