// Gallery generates docs/gallery from the run folders of .ci/gallery: the reports of real runs of the built-in
// scenarios, and the page "ZooKeeper recipes, measured". make gallery runs both.
package main

import (
	"bytes"
	"embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/safefile"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
	"go.yaml.in/yaml/v4"
)

func main() {
	const folder = "docs/gallery"
	files, err := generate("zkbench-out/gallery")
	if err == nil {
		err = replace(folder, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

//go:embed pages/*.tmpl
var pages embed.FS

const generatedHeader = "<!-- Made by make gallery. Do not edit. -->\n\n"

type gallery struct {
	Runs []run

	files map[string][]byte // the pages and figures, by name
}

// auditsPage is written by hand, from the run folders of make audits.
const auditsPage = "audits.md"

func generate(runs string) (map[string][]byte, error) {
	g := gallery{files: map[string][]byte{}}
	folders, err := filepath.Glob(filepath.Join(runs, "*", report.ResultFile))
	if err != nil || len(folders) == 0 {
		return nil, fmt.Errorf("%s has no run folders", runs)
	}
	for _, result := range folders {
		r, err := evaluateRun(filepath.Dir(result), g.files)
		if err != nil {
			return nil, err
		}
		g.Runs = append(g.Runs, r)
	}
	t, err := template.New("").Funcs(template.FuncMap{"md": units.Markdown, "facts": facts}).ParseFS(pages, "pages/*.tmpl")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"README.md", "measured.md"} {
		page := bytes.NewBufferString(generatedHeader)
		if err := t.ExecuteTemplate(page, name+".tmpl", g); err != nil {
			return nil, err
		}
		g.files[name] = page.Bytes()
	}
	return g.files, nil
}

// replace replaces the contents of the folder, except the page of audits.
func replace(folder string, files map[string][]byte) error {
	previous, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return err
	}
	for _, name := range previous {
		if filepath.Base(name) != auditsPage {
			if err := os.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

type run struct {
	Name    string // of the folder
	About   string // of the scenario
	Command string // that repeats the run
	Result  report.Result
	View    *view.View
	files   map[string][]byte
}

// evaluateRun evaluates the run in dir and removes the machine's name from the result. It adds the page of the run to
// files, except if the run is of an incident: incidents are only in a table.
func evaluateRun(dir string, files map[string][]byte) (run, error) {
	c, err := report.Judge(dir)
	if err != nil {
		return run{}, err
	}
	command, err := os.ReadFile(dir + ".command")
	if err != nil {
		return run{}, err
	}
	var scenario struct{ About string }
	text, err := safefile.Read(filepath.Join(dir, report.ScenarioFile), safefile.Config)
	if err == nil {
		err = yaml.Load(text, &scenario)
	}
	if err != nil {
		return run{}, err
	}
	r := run{Name: filepath.Base(dir), About: scenario.About, Command: strings.TrimSpace(string(command)), files: files}
	delete(c.Result.Run.Host, "name")
	c.Result.Run.ID, c.Result.Run.Command = r.Name, r.Command
	r.Result = c.Result
	r.View = view.New(view.Input{Result: c.Result, Dir: r.Name, Traces: c.Traces, Explanations: explain.Failures(c), PageOnly: true})
	if c.Result.Run.Incident != nil {
		return r, nil
	}
	var page bytes.Buffer
	err = render.Page(&page, r.View)
	files[r.Name+".html"] = page.Bytes()
	return r, err
}

func (g gallery) Find(name string) *run {
	if i := slices.IndexFunc(g.Runs, func(r run) bool { return r.Name == name }); i >= 0 {
		return &g.Runs[i]
	}
	return nil
}

func (g gallery) Incidents() string {
	var results []report.Result
	for _, r := range g.Runs {
		results = append(results, r.Result)
	}
	return markdown(view.IncidentTable(results...))
}

func markdown(tables ...view.Table) string {
	var b strings.Builder
	for _, t := range tables {
		if len(t.Rows) > 0 {
			render.MarkdownTable(&b, t)
		}
	}
	return b.String()
}

func (r run) Tables() string { return markdown(r.View.Tables...) }

func (r run) Matrices() string {
	return markdown(slices.DeleteFunc(slices.Clone(r.View.Tables), func(t view.Table) bool { return len(t.Marks) == 0 })...)
}

// Figures writes the figures of a kind, which is a figure's name without its trial.
func (r run) Figures(kind string) (string, error) {
	var b strings.Builder
	for _, f := range r.View.Figures {
		if strings.TrimSuffix(f.Name, "-"+f.Trial) != kind {
			continue
		}
		svg, err := f.SVG()
		if err != nil {
			return "", err
		}
		name := "measured/" + r.Name + "-" + strings.TrimPrefix(f.Name, r.Name+"-") + ".svg"
		r.files[name] = svg
		fmt.Fprintf(&b, "\n![%s](%s)\n\n%s\n", units.Markdown(f.Title), name, units.Markdown(f.About))
	}
	return b.String(), nil
}

func facts(all map[string]string) string {
	lines := units.Names(slices.Sorted(maps.Keys(all)), func(k string) string { return k + " " + all[k] })
	return units.Markdown(strings.Join(lines, ", "))
}
