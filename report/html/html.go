// Package html writes report.html: one file that answers in sentences, shows the
// plots, and lists every verdict, threshold, fault and metric. It needs no network
// and no server, and its content security policy allows only what is written in it.
package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"zkbench/report"
	"zkbench/report/explain"
	"zkbench/report/matrix"
	"zkbench/report/plot"
	"zkbench/report/text"
	"zkbench/report/units"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed timeline.js
	timelineJS string
)

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"clean":   units.Clean,
	"mark":    mark,
	"outcome": text.TrialOutcome,
	"seconds": seconds,
}).Parse(pageHTML))

// Figure is a plot as the page shows it.
type Figure struct {
	*plot.Figure
	SVG template.HTML // drawn by package plot, which escapes what it writes
}

// Input is what the page is made of.
type Input struct {
	Result    report.Result
	Figures   []*plot.Figure
	Timelines []plot.Timeline
	Stories   []explain.Story // of failed verdicts
}

// Limits that keep the page below 2 MB.
const (
	figureBytes = 900_000 // of SVG in all
	beliefLimit = 14_000  // bars in the interactive timeline in all; about 30 bytes each
	faultLimit  = 200     // rows of faults a trial
)

// Write writes the page.
func Write(w io.Writer, in Input) error {
	v := newView(in)
	if err := v.figures(in); err != nil {
		return err
	}
	if err := v.timelines(in.Timelines); err != nil {
		return err
	}
	v.Policy = policy(string(v.CSS), string(v.Script))
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("report.html: %w", err)
	}
	return nil
}

// view is what the template reads.
type view struct {
	Policy   string
	CSS      template.CSS
	Script   template.JS
	Data     template.JS
	Run      report.Run
	Answer   text.Answer
	Trials   []report.Trial
	Tables   []table
	Overview []Figure
	Others   []Figure
	PerTrial []trialFigures
	LeftOut  int

	HasTimelines bool
	Stories      []story
	Verdicts     []row
	Thresholds   []row
	Faults       []faultTable
	Metrics      []metricTable
	Formulas     []formula
	Facts        []fact
}

// table is the trials of one scenario.
type table struct {
	Columns []text.Column
	Trials  []report.Trial
}

// trialFigures are the plots of one trial.
type trialFigures struct {
	Title   string
	Open    bool
	Figures []Figure
}

func newView(in Input) *view {
	r := in.Result
	v := &view{Run: r.Run, Answer: text.Answers(r), Trials: text.InOrder(r.Trials),
		CSS: template.CSS(pageCSS + darkCSS()), Script: template.JS(timelineJS), Facts: facts(r)}
	for _, s := range matrix.Of(r.Trials) {
		trials := slices.DeleteFunc(slices.Clone(v.Trials), func(t report.Trial) bool { return t.Scenario != s.Name })
		v.Tables = append(v.Tables, table{Columns: resultFirst(text.Columns(trials)), Trials: trials})
	}
	v.Verdicts, v.Thresholds = results(v.Trials)
	v.Stories = stories(in.Stories)
	v.Faults, v.Metrics, v.Formulas = faults(v.Trials), metrics(v.Trials), formulas(v.Trials)
	return v
}

// resultFirst moves the last column to the front: at the far end of a table that
// scrolls, a failure would be out of sight.
func resultFirst(cols []text.Column) []text.Column {
	last := len(cols) - 1
	return append([]text.Column{cols[last]}, cols[:last]...)
}

// figures sorts the plots into those of the run and those of one trial, and leaves
// out the last of the latter when the page would grow too big.
func (v *view) figures(in Input) error {
	room := figureBytes
	most := 0 // the overview has the percentiles at the largest client count only
	for _, f := range in.Figures {
		if f.Trial == "" {
			most = max(most, f.Clients)
		}
	}
	byTrial := map[string][]Figure{}
	order := byInterest(v.Trials)
	for _, f := range in.Figures {
		if f.Trial != "" {
			continue
		}
		drawn, err := draw(f)
		if err != nil {
			return err
		}
		room -= len(drawn.SVG)
		if f.Clients > 0 && f.Clients != most {
			v.Others = append(v.Others, drawn)
			continue
		}
		v.Overview = append(v.Overview, drawn)
	}
	for _, t := range order {
		for _, f := range in.Figures {
			if f.Trial != t.Name {
				continue
			}
			drawn, err := draw(f)
			if err != nil {
				return err
			}
			if room -= len(drawn.SVG); room < 0 {
				v.LeftOut++
				continue
			}
			byTrial[t.Name] = append(byTrial[t.Name], drawn)
		}
	}
	for i, t := range order {
		if figs := byTrial[t.Name]; len(figs) > 0 {
			v.PerTrial = append(v.PerTrial, trialFigures{title(t), i < 2 || text.TrialOutcome(t) == report.Fail, figs})
		}
	}
	return nil
}

// byInterest puts broken trials first, then unknown ones, then the most clients.
func byInterest(trials []report.Trial) []report.Trial {
	rank := map[string]int{report.Fail: 0, report.Unknown: 1, report.Pass: 2}
	out := slices.Clone(trials)
	slices.SortStableFunc(out, func(a, b report.Trial) int {
		if d := rank[text.TrialOutcome(a)] - rank[text.TrialOutcome(b)]; d != 0 {
			return d
		}
		return b.Clients - a.Clients
	})
	return out
}

func draw(f *plot.Figure) (Figure, error) {
	svg, err := f.SVG()
	if err != nil {
		return Figure{}, err
	}
	return Figure{f, template.HTML(svg)}, nil
}

// timeline is the data of one trial for the script; times in microseconds.
type timeline struct {
	Title    string     `json:"title"`
	From     int64      `json:"from"`
	To       int64      `json:"to"`
	Held     [][3]int64 `json:"held"`     // client, from, to
	Overlaps [][5]int64 `json:"overlaps"` // client, client, from, to, 1 for exposure
	Windows  []window   `json:"windows"`
	Left     int        `json:"left,omitempty"` // grants left out
	Partial  string     `json:"partial,omitempty"`

	LeftOverlaps int `json:"leftOverlaps,omitempty"` // overlaps left out
}

type window struct {
	Fault  string `json:"fault"`
	Target string `json:"target"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Proven bool   `json:"proven"`
}

func (v *view) timelines(all []plot.Timeline) error {
	all = slices.DeleteFunc(slices.Clone(all), func(t plot.Timeline) bool { return len(t.Beliefs) == 0 })
	if len(all) == 0 {
		return nil
	}
	rank := map[string]int{}
	for i, t := range byInterest(v.Trials) {
		rank[t.Name] = i
	}
	slices.SortStableFunc(all, func(a, b plot.Timeline) int { return rank[a.Trial] - rank[b.Trial] })
	data := make([]timeline, len(all))
	for i, t := range all {
		data[i] = pack(t, beliefLimit/len(all))
	}
	b, err := json.Marshal(data) // escapes <, > and &, so nothing in it can end the script element
	if err != nil {
		return fmt.Errorf("report.html: timelines: %w", err)
	}
	v.Data, v.HasTimelines = template.JS(b), true
	return nil
}

// pack keeps at most limit grants, and beyond it those in the overlaps that are
// listed, of which there are at most a quarter as many.
func pack(t plot.Timeline, limit int) timeline {
	out := timeline{Title: fmt.Sprintf("%s, %s", t.Label, units.Plural(t.Clients, "contender")), Partial: units.Clean(t.Partial),
		Held: [][3]int64{}, Overlaps: [][5]int64{}, Windows: []window{}}
	listed := t.Overlaps[:min(len(t.Overlaps), limit/4)]
	out.LeftOverlaps = len(t.Overlaps) - len(listed)
	starts := map[int][]time.Duration{} // of the listed overlaps, by client
	for _, o := range listed {
		var exposure int64
		if o.Exposure {
			exposure = 1
		}
		out.Overlaps = append(out.Overlaps, [5]int64{int64(o.Clients[0]), int64(o.Clients[1]), o.Start.Microseconds(), o.End.Microseconds(), exposure})
		for _, c := range o.Clients {
			starts[c] = append(starts[c], o.Start)
		}
	}
	for _, s := range starts {
		slices.Sort(s)
	}
	for _, b := range t.Beliefs {
		if len(out.Held) >= limit && !within(b, starts[b.Client]) {
			out.Left++
			continue
		}
		out.Held = append(out.Held, [3]int64{int64(b.Client), b.Start.Microseconds(), b.End.Microseconds()})
	}
	for _, w := range t.Windows[:min(len(t.Windows), max(limit/10, 50))] {
		out.Windows = append(out.Windows, window{units.Clean(w.Fault), units.Clean(w.Target), w.Start.Microseconds(), max(w.Start, w.End).Microseconds(), w.Proven})
	}
	out.extent()
	return out
}

// within says whether any of the ordered instants lies in the belief. An overlap
// of a client begins within the belief that it is an overlap of.
func within(b plot.Belief, instants []time.Duration) bool {
	i, _ := slices.BinarySearch(instants, b.Start)
	return i < len(instants) && instants[i] < b.End
}

func (t *timeline) extent() {
	t.From, t.To = t.Held[0][1], t.Held[0][2]
	for _, h := range t.Held {
		t.From, t.To = min(t.From, h[1]), max(t.To, h[2])
	}
	for _, w := range t.Windows {
		t.From, t.To = min(t.From, w.From), max(t.To, w.To)
	}
}

// darkCSS recolours the plots by the colours that they are drawn in.
func darkCSS() string {
	var b strings.Builder
	b.WriteString("@media screen and (prefers-color-scheme: dark) {\n")
	for _, light := range text.Keys(plot.Dark) {
		fmt.Fprintf(&b, "  .plot [fill=\"%[1]s\"] { fill: %[2]s; } .plot [stroke=\"%[1]s\"] { stroke: %[2]s; }\n", light, plot.Dark[light])
	}
	b.WriteString("}\n")
	return b.String()
}

// policy allows the one style sheet and the one script of the page, by their
// hashes, and nothing else: no network, no other script, no form.
func policy(css, script string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'", hash(css), hash(script))
}

func title(t report.Trial) string {
	return fmt.Sprintf("%s, %s", units.Clean(t.Subject), units.Plural(t.Clients, "contender"))
}

func mark(result string) string {
	switch result {
	case report.Pass:
		return "✓"
	case report.Fail:
		return "✗"
	}
	return "?"
}
