package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

type shown struct {
	exhibit
	about string // of the scenario
	run   report.Result
	view  *view.View
}

func drawAll(runs, out string) error {
	var all []shown
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
	}
	files := map[string][]byte{}
	for _, s := range all {
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
		svg, err := f.SVG()
		if err != nil {
			return err
		}
		files[name] = svg
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
func (e exhibit) judge(runs string) (shown, error) {
	dir := filepath.Join(runs, e.folder())
	if _, err := os.Stat(filepath.Join(dir, report.ResultFile)); err != nil {
		return shown{}, err
	}
	c, err := report.Judge(dir)
	if err != nil {
		return shown{}, err
	}
	s, err := e.load()
	if err != nil {
		return shown{}, err
	}
	r := &c.Result.Run
	delete(r.Host, "name")
	r.ID, r.Command = e.folder(), e.command()
	v := view.Of(view.Input{Result: c.Result, Dir: e.folder(), Traces: c.Traces, Stories: explain.Failures(c), Alone: true})
	return shown{e, s.About, c.Result, v}, nil
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

// made is the first line of a generated page.
const made = "<!-- Made by make gallery. Do not edit. -->\n\n"

func index(all []shown, audits bool) string {
	var b strings.Builder
	b.WriteString(made + "# Gallery\n\nReports of small runs of the built-in scenarios. Each is one page that needs no network: save it and open it\n" +
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

func kind(f *plot.Figure) string {
	if f.Trial == "" {
		return f.Name
	}
	return strings.TrimSuffix(f.Name, "-"+f.Trial)
}
