package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

type renderedExhibit struct {
	exhibit
	about string // of the scenario
	run   report.Result
	view  *view.View
}

func drawAll(runs, out string) error {
	var all []renderedExhibit
	files := map[string][]byte{}
	for _, e := range exhibits() {
		s, err := e.judge(runs)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Printf("%s: no run found, omitted\n", e.name)
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, s)
		if s.run.Run.Incident != nil { // these are in the table of measurements
			continue
		}
		var page bytes.Buffer
		if err := render.Page(&page, s.view); err != nil {
			return err
		}
		files[s.folder()+".html"] = page.Bytes()
	}
	text, figures := measured(all)
	for name, f := range figures {
		var err error
		if files[name], err = f.SVG(); err != nil {
			return err
		}
	}
	byVersion, err := audits(runs)
	if err != nil {
		return err
	}
	if byVersion != "" {
		files["audits.md"] = []byte(byVersion)
	}
	files["measured.md"], files["README.md"] = []byte(text), []byte(index(all, byVersion != ""))
	return write(out, files)
}

// judge evaluates the exhibit's run, and removes the machine's name from the result.
func (e exhibit) judge(runs string) (renderedExhibit, error) {
	dir := filepath.Join(runs, e.folder())
	if _, err := os.Stat(filepath.Join(dir, report.ResultFile)); err != nil {
		return renderedExhibit{}, err
	}
	c, err := report.Judge(dir)
	if err != nil {
		return renderedExhibit{}, err
	}
	s, err := e.load()
	if err != nil {
		return renderedExhibit{}, err
	}
	r := &c.Result.Run
	delete(r.Host, "name")
	r.ID, r.Command = e.folder(), e.command()
	v := view.New(view.Input{Result: c.Result, Dir: e.folder(), Traces: c.Traces, Stories: explain.Failures(c), Alone: true})
	return renderedExhibit{e, s.About, c.Result, v}, nil
}

// write writes the files to out, and removes all other files there. It returns an error if a file
// contains the name of this machine or a folder of its user.
func write(out string, files map[string][]byte) error {
	private, err := private()
	if err != nil {
		return err
	}
	for name, text := range files {
		if found := private.Find(text); found != nil {
			return fmt.Errorf("%s contains the name of this machine or a folder of its user: %s", name, found)
		}
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return filepath.WalkDir(out, func(file string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(out, file)
		if _, made := files[filepath.ToSlash(name)]; err != nil || d.IsDir() || made {
			return err
		}
		return os.Remove(file)
	})
}

// private returns an expression for text that must not be published: the machine's name and its user's folders.
func private() (*regexp.Regexp, error) {
	var words []string
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, s := range []string{host, here, os.Getenv("HOME"), strings.TrimSuffix(os.TempDir(), "/") + "/"} {
		if len(s) > 1 {
			words = append(words, regexp.QuoteMeta(s))
		}
	}
	return regexp.Compile(`(^|[^\w.-])(` + strings.Join(words, "|") + `)($|[^\w-])`)
}

// generatedHeader is the first line of a generated page.
const generatedHeader = "<!-- Made by make gallery. Do not edit. -->\n\n"

func index(all []renderedExhibit, audits bool) string {
	var b strings.Builder
	b.WriteString(generatedHeader + "# Gallery\n\nReports of small runs of the built-in scenarios. Each is one page that needs no network: save it and open it\n" +
		"in a browser. [ZooKeeper recipes, measured](measured.md) summarizes the most important results.\n\n" +
		"| report | question | result |\n|---|---|---|\n")
	for _, s := range all {
		if s.run.Run.Incident == nil {
			fmt.Fprintf(&b, "| [%s](%s.html) | %s | %s |\n", s.name, s.folder(), units.Markdown(s.about), units.Markdown(s.view.Verdict))
		}
	}
	if audits {
		b.WriteString("\n[Audits by version](audits.md) shows the failed cells of other projects' recipes, old and new versions side by side.\n")
	}
	b.WriteString("\nThey are made by one command, which takes some 30 minutes on a quiet machine:\n\n    make gallery\n")
	return b.String()
}

// kind returns the figure's name without its trial.
func kind(f *plot.Figure) string { return strings.TrimSuffix(f.Name, "-"+f.Trial) }

// part is a section of the page of measurements, with the figures and tables of one run.
type part struct {
	title, text string
	of          string   // the exhibit
	figures     []string // kinds of figures
	matrices    bool     // of the tables, only the matrices
}

var parts = []part{
	{"The herd", "All contenders wait in line, and the line drains. If every waiter watches the parent, one release notifies all of them; " +
		"where each watches the node before its own, it wakes one. Notifications were counted on the wire, frame by frame. Then the same contenders fight for the lock, and a hand-off is timed from the call to release to the next grant.",
		"herd", []string{"fanout", "handoff-by-clients"}, false},
	{"Stages of a failover", "The holder is removed in several ways. The time until the next client holds the lock is compared with the bounds of ZooKeeper's own arithmetic. " +
		"Nearly all of it is waiting for the session to expire: the session timeout decides, not the recipe.",
		"failover", []string{"failover", "failover-budget"}, false},
	{"Every step, every fault", "Every step of a recipe's protocol (a request, a reply, a notification, a call) meets every fault that fits it, in an episode of its own. " +
		"Every client must acquire again after recovery, and every guarantee must hold.",
		"audit", nil, true},
	{"The paused holder", "The holder's process is stopped (SIGSTOP) until its session has expired and the next client holds the lock, and is then resumed. " +
		"No lock can prevent the write that the holder was about to make; a fencing token can, if the resource checks it.",
		"paused-holder", []string{"paused", "resumed"}, false},
}

func measured(runs []renderedExhibit) (text string, figures map[string]*plot.Figure) {
	var b strings.Builder
	figures = map[string]*plot.Figure{}
	b.WriteString(generatedHeader + "# ZooKeeper recipes, measured\n\n" + method(runs))
	for _, p := range parts {
		i := slices.IndexFunc(runs, func(s renderedExhibit) bool { return s.name == p.of })
		if i >= 0 {
			p.write(&b, runs[i], figures)
		}
	}
	incidents(&b, runs)
	return b.String(), figures
}

// write writes the section to b, and adds its figures to figures.
func (p part) write(b *strings.Builder, s renderedExhibit, figures map[string]*plot.Figure) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n**%s**\n", p.title, p.text, units.Markdown(s.view.Verdict))
	for _, want := range p.figures {
		for _, f := range s.view.Figures {
			if kind(f) != want {
				continue
			}
			name := p.file(f, figures)
			figures[name] = f
			fmt.Fprintf(b, "\n![%s](%s)\n\n%s\n", units.Markdown(f.Title), name, units.Markdown(f.About))
		}
	}
	for _, t := range s.view.Tables {
		if !p.matrices || len(t.Marks) > 0 {
			render.MarkdownTable(b, t)
		}
	}
	fmt.Fprintf(b, "\nThe whole report: [%s.html](%s.html). To run it again:\n\n    %s\n", s.folder(), s.folder(), s.command())
}

// file returns the figure's file name: scenario, kind and, if that name is taken, trial.
func (p part) file(f *plot.Figure, taken map[string]*plot.Figure) string {
	name := kind(f)
	if !strings.HasPrefix(name, p.of) {
		name = p.of + "-" + name
	}
	file := "measured/" + name + ".svg"
	if taken[file] != nil {
		file = "measured/" + name + "-" + f.Trial + ".svg"
	}
	return file
}

func method(runs []renderedExhibit) string {
	if len(runs) == 0 {
		return "Nothing was run.\n"
	}
	r := runs[0].run.Run
	listed := func(facts map[string]string) string {
		var out []string
		for _, k := range slices.Sorted(maps.Keys(facts)) {
			out = append(out, k+" "+facts[k])
		}
		return units.Markdown(strings.Join(out, ", "))
	}
	return fmt.Sprintf(`Everything ran on one machine: the three members, all clients and zkbench. Latencies apply to that machine only; compare
ratios within one run, and counts. All times of a run come from one monotonic clock; messages on the wire were counted
frame by frame; the outcome of each request is read from the members' transaction logs. A verdict that could not be
determined is unknown, never a pass. [Metrics and results explained](../NUMBERS.md) has the details.

| | |
|---|---|
| machine | %s |
| ensemble | %s |
| versions | %s |
| measured | %s |
| seed of every run | %d |
| reproduce with | `+"`make gallery`"+` |
`, listed(r.Host), units.Markdown(r.Ensemble.About), listed(r.Versions), r.Start.UTC().Format("2006-01-02"), seed)
}

func incidents(b *strings.Builder, runs []renderedExhibit) {
	var results []report.Result
	for _, s := range runs {
		if s.run.Run.Incident != nil {
			results = append(results, s.run)
		}
	}
	if len(results) == 0 {
		return
	}
	b.WriteString("\n## Known faults of released libraries\n\nEach is documented publicly, and was reproduced here with one fault at one step.\n")
	render.MarkdownTable(b, view.IncidentTable(results...))
	b.WriteString("\nSources and the lines of code that cause them: `zkbench list incidents`. To reproduce one: `zkbench run incident/writelock-missed-wakeup`.\n")
}
