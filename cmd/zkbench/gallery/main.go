// Gallery generates docs/gallery from the run folders of .ci/gallery: the reports of real runs of the built-in
// scenarios, the page "ZooKeeper recipes, measured", and audits by version. make gallery runs both.
package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/safefile"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/report/view"
	"go.yaml.in/yaml/v4"
	"golang.org/x/mod/semver"
)

func main() {
	const folder = "docs/gallery"
	files, err := generate("zkbench-out/gallery", "zkbench-out/audits")
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
	Runs   []run
	Audits []audit

	files map[string][]byte // the pages and figures, by name
}

// auditsPage is the page of the audits. Without run folders of audits, the previous page stays.
const auditsPage = "audits.md"

func generate(runs, audits string) (map[string][]byte, error) {
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
	if g.Audits, err = readAudits(audits); err != nil {
		return nil, err
	}
	t, err := template.New("").Funcs(template.FuncMap{"md": units.Markdown, "facts": facts}).ParseFS(pages, "pages/*.tmpl")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"README.md", "measured.md", auditsPage} {
		page := bytes.NewBufferString(generatedHeader)
		if err := t.ExecuteTemplate(page, name+".tmpl", g); err != nil {
			return nil, err
		}
		g.files[name] = page.Bytes()
	}
	if len(g.Audits) == 0 {
		delete(g.files, auditsPage)
	}
	return g.files, nil
}

// replace replaces the contents of the folder, except the page of audits if files does not have it.
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

type audit struct {
	Subject  string
	versions []report.Result // oldest version first
	causes   []cause
}

type cause struct {
	Subject, Broken, Text string
	Cells                 string // a regular expression
}

//go:embed causes.yaml
var causesYAML []byte

func readAudits(folder string) (all []audit, err error) {
	var causes []cause
	if err := yaml.Load(causesYAML, &causes); err != nil {
		return nil, err
	}
	dirs, err := filepath.Glob(filepath.Join(folder, "*@*"))
	if err != nil {
		return nil, err
	}
	versions := map[string][]report.Result{}
	for _, dir := range dirs {
		r, err := report.ReadResult(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		subject, _, _ := strings.Cut(r.Trials[0].Subject, "@")
		versions[subject] = append(versions[subject], r)
	}
	for _, subject := range slices.Sorted(maps.Keys(versions)) {
		slices.SortFunc(versions[subject], func(a, b report.Result) int { return semver.Compare("v"+subjectVersion(a), "v"+subjectVersion(b)) })
		all = append(all, audit{subject, versions[subject], causes})
	}
	return all, nil
}

func subjectVersion(r report.Result) string {
	_, v, _ := strings.Cut(r.Trials[0].Subject, "@")
	return v
}

func zookeeperVersion(r report.Result) string { return r.Run.Versions["zookeeper"] }

const (
	keptAll            = "kept"
	onlyOwnershipQuery = "broken: " + verdict.OwnershipQuery
)

// Table returns the cells that did not keep every guarantee, with a column for each version. The cells that
// broke no guarantee except ownership-query share a row.
func (a audit) Table() string {
	row := func(head string, values []string, cause string) view.Row {
		return view.Row{Cells: slices.Concat([]string{head}, values, []string{cause})}
	}
	var cells []view.Row
	ownership := make([]int, len(a.versions))
	for _, cell := range a.failedCells() {
		outcomes := units.Names(a.versions, func(r report.Result) string { return outcome(r, cell) })
		if slices.ContainsFunc(outcomes, func(o string) bool { return o != keptAll && o != onlyOwnershipQuery }) {
			cells = append(cells, row(cell, outcomes, a.causeOf(cell, outcomes)))
			continue
		}
		for i, o := range outcomes {
			if o == onlyOwnershipQuery {
				ownership[i]++
			}
		}
	}
	var t view.Table
	for _, head := range row("", units.Names(a.versions, subjectVersion), "cause").Cells {
		t.Columns = append(t.Columns, view.Column{Head: head})
	}
	t.Rows = append(t.Rows, row("ZooKeeper", units.Names(a.versions, zookeeperVersion), ""),
		row("cells that kept every guarantee", units.Names(a.versions, countKept), ""))
	if slices.Max(ownership) > 0 {
		counts := units.Names(ownership, func(n int) string { return units.Plural(n, "cell") })
		t.Rows = append(t.Rows, row(onlyOwnershipQuery, counts, a.causeOf("", []string{onlyOwnershipQuery})))
	}
	t.Rows = append(t.Rows, cells...)
	return markdown(t)
}

func (a audit) failedCells() (cells []string) {
	for _, r := range a.versions {
		for _, t := range r.Trials {
			if t.Outcome() != report.Pass && !slices.Contains(cells, t.Script) {
				cells = append(cells, t.Script)
			}
		}
	}
	return cells
}

func countKept(r report.Result) string {
	var n report.Tally
	for _, t := range r.Trials {
		if t.Outcome() != report.Pass || t.InapplicableReason() == "" {
			n.Add(t.Outcome())
		}
	}
	return fmt.Sprintf("%d of %d", n.Pass, n.Total())
}

func outcome(r report.Result, cell string) string {
	i := slices.IndexFunc(r.Trials, func(t report.Trial) bool { return t.Script == cell })
	if i < 0 {
		return "not run"
	}
	t := r.Trials[i]
	if t.Outcome() == report.Pass && t.InapplicableReason() != "" {
		return "not applicable"
	}
	var names []string
	for _, v := range t.Verdicts {
		if v.Result == t.Outcome() {
			names = append(names, v.Guarantee)
		}
	}
	switch t.Outcome() {
	case report.Pass:
		return keptAll
	case report.Fail:
		return "broken: " + strings.Join(names, ", ")
	}
	return "unknown: " + strings.Join(names, ", ")
}

// causeOf returns the cause of the broken guarantees of a cell; "" if every guarantee was kept.
func (a audit) causeOf(cell string, outcomes []string) string {
	broken := strings.Join(slices.DeleteFunc(slices.Clone(outcomes), func(o string) bool { return !strings.HasPrefix(o, "broken: ") }), ", ")
	if broken == "" {
		return ""
	}
	for _, c := range a.causes {
		if c.Subject == a.Subject && strings.Contains(broken, c.Broken) && regexp.MustCompile(c.Cells).MatchString(cell) {
			return c.Text
		}
	}
	return "not explained"
}
