package render

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
	//go:embed page/timeline.js
	timelineJS string
)

// Page writes a self-contained HTML page. Its content security policy allows only its own style
// sheet and script. If the view is PageOnly, the page links to no other file.
func Page(w io.Writer, v *view.View) error {
	p := page{View: v, CSS: template.CSS(pageCSS + darkCSS()), Script: template.JS(pageJS)}
	p.First, p.Rest = v.Ranked()
	p.Timelines = timelines(v.Sections)
	if len(p.Timelines) > 0 {
		p.Script += template.JS(timelineJS)
	}
	p.Policy = policy(string(p.CSS), string(p.Script))
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"clean": units.Clean, "mark": mark, "class": class, "paragraphs": paragraphs, "capital": units.Capital, "outcome": outcomeOf, "scrolling": statusFirst, "lanes": lanes, "link": link, "figure": p.figure,
	}).Parse(pageHTML))
	if err := t.Execute(w, &p); err != nil {
		return fmt.Errorf("%s: %w", v.Page, err)
	}
	return nil
}

type page struct {
	*view.View
	Policy string
	CSS    template.CSS
	Script template.JS
	First  []view.Finding
	Rest   []view.Finding // folded

	Timelines []timeline // the template encodes them as JSON
}

type drawing struct {
	*plot.Figure
	SVG  template.HTML // escaped by package plot
	Path string        // relative path of its files without extension; "" if there are none
}

func (p *page) figure(f *plot.Figure) (drawing, error) {
	svg, err := f.SVG()
	if err != nil {
		return drawing{}, err
	}
	d := drawing{Figure: f, SVG: template.HTML(svg)}
	if !p.PageOnly {
		d.Path = report.PlotDir + "/" + f.Name
	}
	return d, nil
}

// statusFirst moves the status to the front, so that it is visible in tables that scroll.
func statusFirst(t view.Table) view.Table {
	var status, others []int
	for i, c := range t.Columns {
		if c.Kind == view.Status {
			status = append(status, i)
		} else {
			others = append(others, i)
		}
	}
	return t.Pick(append(status, others...))
}

// link returns the id of the explanation of the i-th cell of a row, or "".
func link(r view.Row, i int) string {
	if r.Links == nil {
		return ""
	}
	return r.Links[i]
}

var classes = map[view.ColumnKind]string{view.Number: "n", view.NoWrap: "whole", view.Outcome: "mark"}

func class(c view.Column, r view.Row) string {
	if c.Kind == view.Status {
		return "r " + r.Result
	}
	return classes[c.Kind]
}

func paragraphs(s string) template.HTML {
	escape := func(line string) string { return template.HTMLEscapeString(units.Clean(line)) }
	lines := units.Names(strings.Split(s, "\n"), escape)
	if len(lines) == 1 {
		return template.HTML(lines[0])
	}
	return template.HTML("<p>" + strings.Join(lines, "</p><p>") + "</p>")
}

func darkCSS() string {
	var b strings.Builder
	b.WriteString("@media screen and (prefers-color-scheme: dark) {\n")
	for _, light := range slices.Sorted(maps.Keys(plot.Dark)) {
		fmt.Fprintf(&b, "  .plot [fill=\"%[1]s\"] { fill: %[2]s; } .plot [stroke=\"%[1]s\"] { stroke: %[2]s; }\n", light, plot.Dark[light])
	}
	b.WriteString("}\n")
	return b.String()
}

// policy returns a content security policy that allows only the page's style and script, by their hashes.
func policy(css, script string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'", hash(css), hash(script))
}

var glyphs = map[string][2]string{
	view.MarkPass: {"✓", "pass"}, view.MarkFail: {"✗", "fail"}, view.MarkUnknown: {"?", "unknown"}, view.MarkNone: {"–", "none"}, view.MarkNotExercised: {"·", "none"},
}

type outcome struct{ Class, Glyph, Words string }

func outcomeOf(t view.Table, mark string) outcome {
	o := outcome{Class: glyphs[mark][1], Glyph: glyphs[mark][0]}
	for _, m := range t.Marks {
		if m.Kind == mark {
			o.Words = m.Text
		}
	}
	return o
}

func mark(result string) string {
	return cmp.Or(map[string]string{report.Pass: "✓", report.Fail: "✗"}[result], "?")
}

// timeline is a timeline as timeline.js reads it. Times are in microseconds.
type timeline struct {
	Title    string  `json:"title"`
	Summary  string  `json:"summary"`
	From     int64   `json:"from"`
	To       int64   `json:"to"`
	Held     [][]any `json:"held"`     // client, from, to, for reading
	Overlaps [][]any `json:"overlaps"` // client, client, from, to, exposure
	Faults   [][]any `json:"faults"`   // fault, target, from, to, proven
	Waits    [][]any `json:"waits"`    // phase, client, from, to, left
}

func timelines(sections []view.Section) (out []timeline) {
	for _, s := range sections {
		for _, block := range s.Blocks {
			for _, t := range block.Timelines {
				out = append(out, encodeTimeline(t))
			}
		}
	}
	return out
}

func encodeTimeline(t view.Timeline) timeline {
	us := time.Duration.Microseconds
	out := timeline{Title: t.Title, Summary: t.Summary, From: us(t.From), To: us(t.To), Held: [][]any{}, Overlaps: [][]any{}, Faults: [][]any{}, Waits: [][]any{}}
	for _, b := range t.Holds {
		out.Held = append(out.Held, []any{b.Client, us(b.Start), us(b.End), b.Reads})
	}
	for _, o := range t.Overlaps {
		out.Overlaps = append(out.Overlaps, []any{o.Older, o.Newer, us(o.Start), us(o.End), o.Exposure})
	}
	for _, w := range t.Faults {
		out.Faults = append(out.Faults, []any{units.Clean(w.Fault), units.Clean(w.Target), us(w.Start), us(max(w.Start, w.End)), w.Proof != ""})
	}
	for _, r := range t.Rounds {
		for _, s := range r.Waiters {
			out.Waits = append(out.Waits, []any{units.Clean(r.Phase), s.Client, us(s.From), us(max(s.From, s.To)), s.Left})
		}
	}
	return out
}

const (
	laneWidth  = 1000 // of the drawing, including laneLabel for the names
	laneLabel  = 90
	laneHeight = 34
	markRadius = 10
	timeWidth  = 62 // of a time label below the lanes
)

// lanes renders a chart as SVG; the style sheet sets the colors.
func lanes(c explain.Chart) template.HTML {
	if len(c.Lanes) == 0 {
		return ""
	}
	var b strings.Builder
	bottom := laneHeight * len(c.Lanes)
	fmt.Fprintf(&b, `<svg class="lanes" viewBox="0 0 %d %d" role="img" aria-label="From %s to %s, one lane each for %s">`,
		laneWidth, bottom+26, units.Moment(c.From), units.Moment(c.To),
		units.List(units.Names(c.Lanes, explain.Lane.Name)))
	x := func(t time.Duration) float64 {
		return laneLabel + markRadius + c.Position(t)*(laneWidth-laneLabel-2*markRadius)
	}
	box := func(bar explain.Bar, y, high int, kind string) {
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" class="%s"/>`, x(bar.From), y, max(x(bar.To)-x(bar.From), 1.5), high, kind)
	}
	for _, l := range c.Lanes {
		for _, bar := range l.Bars {
			if bar.Kind == explain.FaultBar {
				box(bar, 0, bottom, "band")
			}
		}
	}
	for i, l := range c.Lanes {
		y := laneHeight*i + 6
		fmt.Fprintf(&b, `<text x="0" y="%d" class="lane">%s</text>`, y+16, l.Name())
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%d" y2="%[3]d" class="rail"/>`, laneLabel, laneWidth, y+11)
		for _, bar := range fromBottom(l) {
			box(bar, y, 22, bar.Kind)
		}
	}
	for _, both := range c.Overlaps {
		box(both, 0, bottom, "both")
	}
	for i, l := range c.Lanes {
		writeMarks(&b, l, laneHeight*i+17, x)
	}
	writeTimes(&b, c, bottom+18, x)
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// writeMarks renders events as numbers in circles, next to each other if their times are equal.
func writeMarks(b *strings.Builder, l explain.Lane, y int, x func(time.Duration) float64) {
	free := 0.0
	for _, m := range l.Marks {
		at := max(x(m.At), free)
		free = at + 2*markRadius + 1
		kind := "event"
		if m.Proof {
			kind += " proof"
		}
		fmt.Fprintf(b, `<g class="%s"><circle cx="%.1f" cy="%d" r="%d"/><text x="%.1f" y="%d">%d</text></g>`, kind, at, y, markRadius, at, y+4, m.Number)
	}
}

// writeTimes writes the times of the start and the end of the chart below the lanes, and the times of
// the events between them if they do not overlap.
func writeTimes(b *strings.Builder, c explain.Chart, y int, x func(time.Duration) float64) {
	write := func(t time.Duration, at float64, place string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" class="time %s">%s</text>`, at, y, place, units.Moment(t))
	}
	write(c.From, laneLabel, "")
	free := laneLabel + 1.6*timeWidth
	for _, t := range c.EventTimes {
		if at := x(t); at >= free && at < laneWidth-1.6*timeWidth {
			write(t, at, "mid")
			free = at + timeWidth + 8
		}
	}
	write(c.To, laneWidth, "end")
}

func fromBottom(l explain.Lane) []explain.Bar {
	return slices.SortedStableFunc(slices.Values(l.Bars), func(a, b explain.Bar) int {
		return slices.Index(explain.Kinds, a.Kind) - slices.Index(explain.Kinds, b.Kind)
	})
}
