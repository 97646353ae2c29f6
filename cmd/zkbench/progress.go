package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/stage"
	"golang.org/x/term"
)

// progress shows the progress of a run: one repainted line on a terminal, one line per phase otherwise.
type progress struct {
	w     io.Writer
	quiet bool
	tty   *os.File // nil if w is not a terminal
	start time.Time

	mu         sync.Mutex
	painted    bool           // the cursor is after a status line
	headings   map[int]string // heading of each running trial; interleaved trials share the heading of the first
	shownTrial int            // number of the trial in the line
	fault      string         // fault of the last plain line
}

func newProgress(w io.Writer, quiet bool) *progress {
	w = rawWriter(w) // its status line moves the cursor
	return &progress{w: w, quiet: quiet, tty: tty(w), start: time.Now(), headings: map[int]string{}}
}

func (p *progress) log(format string, args ...any) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	fmt.Fprintln(p.w, printable(fmt.Sprintf(format, args...)))
}

// printable returns the text, which may quote drivers, files and servers, without control sequences of
// a terminal and without lines that are commands of a CI system (::error::, ##[).
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = units.Clean(line)
		if trimmed := strings.TrimLeft(line, " "); strings.HasPrefix(trimmed, "::") || strings.HasPrefix(trimmed, "##[") {
			line = "| " + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

type sanitizingWriter struct {
	io.Writer
	incomplete bool // the last line has no end yet
}

func (c *sanitizingWriter) Write(p []byte) (int, error) {
	text := string(p)
	if c.incomplete {
		text = "." + text // not the start of a line
	}
	text = printable(text)
	if c.incomplete {
		text = text[1:]
	}
	c.incomplete = len(p) > 0 && p[len(p)-1] != '\n'
	if _, err := io.WriteString(c.Writer, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// rawWriter returns the writer behind w, for control sequences and commands of a CI system.
func rawWriter(w io.Writer) io.Writer {
	if c, ok := w.(*sanitizingWriter); ok {
		return c.Writer
	}
	return w
}

func (p *progress) status(s stage.Status) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	head := heading(s)
	changed, shown := p.updateHeading(head, s)
	if p.tty == nil {
		if changed && s.Phase != "" {
			fmt.Fprintf(p.w, "%6.1fs  %s%s\n", time.Since(p.start).Seconds(), head, remaining(s.Left))
		}
		if s.Fault != p.fault && s.Fault != "" {
			fmt.Fprintf(p.w, "%6.1fs  fault: %s\n", time.Since(p.start).Seconds(), printable(s.Fault))
		}
		p.fault = s.Fault
		return
	}
	if !shown {
		return
	}
	width, _, err := term.GetSize(int(p.tty.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", units.Truncate(statusLine(head, s), width-1))
	p.painted = true
}

// updateHeading records the heading of a trial. changed reports whether the heading is new, and shown whether the
// status line shows the trial: of parallel trials, it shows the trial that changed its heading last.
func (p *progress) updateHeading(head string, s stage.Status) (changed, shown bool) {
	trial := cmp.Or(s.First, s.Trial)
	if s.Over {
		delete(p.headings, trial)
		return false, false
	}
	if trial > 0 {
		delete(p.headings, 0) // no status reports the end of the warm-up
	}
	current, known := p.headings[trial]
	if known && s.Phase == "" { // the second of a pair opens its sessions
		head = current
	}
	changed = current != head
	p.headings[trial] = head
	if _, running := p.headings[p.shownTrial]; changed || !running {
		p.shownTrial = trial
	}
	return changed, p.shownTrial == trial
}

func heading(s stage.Status) string {
	if s.Trial == 0 {
		return s.Phase
	}
	trials, subject := fmt.Sprintf("trial %d", s.Trial), s.Subject
	if s.Beside != "" {
		trials, subject = fmt.Sprintf("trials %d-%d", s.First, s.Last), s.Beside
	}
	return strings.TrimSpace(fmt.Sprintf("%s of %d: %s, %d clients: %s", trials, s.Trials, subject, s.Clients, s.Phase))
}

// statusLine returns the status in one line, the most important part first, since the line may be cut.
func statusLine(head string, s stage.Status) string {
	parts := []string{strings.TrimSpace(head + " " + s.Detail)}
	if s.Fault != "" {
		parts = append(parts, "FAULT "+s.Fault)
	}
	if s.Lost > 0 {
		parts = append(parts, units.Plural(s.Lost, "record")+" DROPPED")
	}
	return strings.Join(parts, ", ") + remaining(s.Left)
}

// remaining returns the estimated time left as text, with at most two digits.
func remaining(left time.Duration) string {
	switch {
	case left <= 0:
		return ""
	case left < time.Minute:
		return fmt.Sprintf(", about %d s left", int(max(left.Round(time.Second).Seconds(), 1)))
	case left < time.Hour:
		return fmt.Sprintf(", about %d min left", int(left.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf(", about %.1f h left", left.Hours())
}

func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
}

func (p *progress) wipe() {
	if p.painted {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.painted = false
	}
}
