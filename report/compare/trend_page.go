package compare

import (
	"bytes"
	"fmt"
	"html/template"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/plot"
)

// trendPage is one page that works offline.
var trendPage = template.Must(template.New("trend").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title><style>
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:100rem}
main{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr));gap:1.5rem}
figure{margin:0}figure svg{width:100%;height:auto}pre{overflow-x:auto}
</style></head><body><h1>{{.Title}}</h1>
{{with .Breaks}}<h2>Where it goes on with something unlike</h2><ul>{{range .}}<li>{{.}}</li>{{end}}</ul>{{end}}
<main>{{range .Figures}}<figure>{{.SVG}}<figcaption><b>{{.Title}}.</b> {{.About}}</figcaption></figure>{{end}}</main>
<h2>In numbers</h2><pre tabindex="0">{{.Table}}</pre></body></html>
`))

// TrendPage is a page with the figures of [Trend], what [Breaks] says, and the numbers.
func TrendPage(runs []report.Result, figures []*plot.Figure, asked []report.Measure) ([]byte, error) {
	type drawn struct {
		Title, About string
		SVG          template.HTML
	}
	var all []drawn
	for _, f := range figures {
		svg, err := f.SVG()
		if err != nil {
			return nil, err
		}
		if at := bytes.Index(svg, []byte("<svg")); at > 0 {
			svg = svg[at:] // a page has no XML declaration inside
		}
		all = append(all, drawn{f.Title, f.About, template.HTML(svg)}) // our own drawing, whose texts are escaped
	}
	var page bytes.Buffer
	err := trendPage.Execute(&page, map[string]any{"Title": fmt.Sprintf("zkbench: %d runs", len(runs)), "Breaks": Breaks(runs),
		"Figures": all, "Table": TrendTable(runs, asked)})
	return page.Bytes(), err
}
