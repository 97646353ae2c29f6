// Package html writes report.html: one file that answers in sentences, shows the
// plots, and lists every verdict, threshold, fault and metric. It needs no network
// and no server, and its content security policy allows only what is written in it.
package html

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/text"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
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
	if err := v.figures(in.Figures); err != nil {
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
	v.Faults, v.Metrics, v.Formulas = faults(v.Trials), metrics(v.Trials), formulas(r.Trials)
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
func (v *view) figures(all []*plot.Figure) error {
	byTrial := map[string][]*plot.Figure{}
	for _, f := range all {
		byTrial[f.Trial] = append(byTrial[f.Trial], f)
	}
	used, err := v.ofTheRun(byTrial[""])
	if err != nil {
		return err
	}
	return v.ofTrials(byTrial, figureBytes-used)
}

// ofTheRun returns how many bytes its plots take. The overview has the percentiles at
// the largest client count only.
func (v *view) ofTheRun(figures []*plot.Figure) (used int, err error) {
	most := 0
	for _, f := range figures {
		most = max(most, f.Clients)
	}
	for _, f := range figures {
		drawn, err := draw(f)
		if err != nil {
			return 0, err
		}
		used += len(drawn.SVG)
		if f.Clients > 0 && f.Clients != most {
			v.Others = append(v.Others, drawn)
		} else {
			v.Overview = append(v.Overview, drawn)
		}
	}
	return used, nil
}

// ofTrials takes the plots of the trials, by their interest, while there is room.
func (v *view) ofTrials(byTrial map[string][]*plot.Figure, room int) error {
	for i, t := range byInterest(v.Trials) {
		shown := trialFigures{Title: title(t), Open: i < 2 || text.TrialOutcome(t) == report.Fail}
		for _, f := range byTrial[t.Name] {
			drawn, err := draw(f)
			if err != nil {
				return err
			}
			if room -= len(drawn.SVG); room < 0 {
				v.LeftOut++
				continue
			}
			shown.Figures = append(shown.Figures, drawn)
		}
		if len(shown.Figures) > 0 {
			v.PerTrial = append(v.PerTrial, shown)
		}
	}
	return nil
}

// byInterest puts broken trials first, then unknown ones, then the most clients.
func byInterest(trials []report.Trial) []report.Trial {
	out := slices.Clone(trials)
	slices.SortStableFunc(out, func(a, b report.Trial) int {
		worse := verdict.Severity(b.Outcome()) - verdict.Severity(a.Outcome())
		return cmp.Or(worse, b.Clients-a.Clients)
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

// title names a row of trials, which bears the label of its series as its subject.
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
