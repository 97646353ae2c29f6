package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"zkbench/report/units"
	"zkbench/scenarios"
)

// progress tells how far a run is: one line, repainted, on a terminal; plain lines,
// one a phase, elsewhere.
type progress struct {
	w     io.Writer
	quiet bool
	tty   *os.File // nil when w is no terminal
	start time.Time

	mu      sync.Mutex
	painted bool   // the cursor stands behind a status line
	phase   string // what the last plain lines were about
	fault   string
}

func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{w: w, quiet: quiet, start: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.tty = f
	}
	return p
}

// columns is how wide the terminal is now.
func (p *progress) columns() int {
	width, _, err := term.GetSize(int(p.tty.Fd()))
	if err != nil || width < 20 {
		return 80
	}
	return width
}

// log prints a line of its own.
func (p *progress) log(format string, args ...any) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// status shows how far a run is.
func (p *progress) status(s scenarios.Status) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	head := heading(s)
	if p.tty == nil {
		if head != p.phase && s.Phase != "" {
			p.phase = head
			fmt.Fprintf(p.w, "%6.1fs  %s%s\n", time.Since(p.start).Seconds(), head, remaining(s.Left))
		}
		if s.Fault != p.fault && s.Fault != "" {
			fmt.Fprintf(p.w, "%6.1fs  fault: %s\n", time.Since(p.start).Seconds(), s.Fault)
		}
		p.fault = s.Fault
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", units.Short(statusLine(head, s), p.columns()-1))
	p.painted = true
}

// heading says which trial and which phase it is.
func heading(s scenarios.Status) string {
	if s.Trial == 0 {
		return s.Phase
	}
	return fmt.Sprintf("trial %d of %d: %s, %d clients: %s", s.Trial, s.Trials, s.Subject, s.Clients, s.Phase)
}

// statusLine is everything in one line, the most important first: what does not fit is cut.
func statusLine(head string, s scenarios.Status) string {
	parts := []string{strings.TrimSpace(head + " " + s.Detail)}
	if s.Fault != "" {
		parts = append(parts, "FAULT "+s.Fault)
	}
	if s.Rate > 0 {
		parts = append(parts, units.Number(math.Round(s.Rate))+" grants/s")
	}
	if s.Lost > 0 {
		parts = append(parts, units.Plural(s.Lost, "record")+" DROPPED")
	}
	return strings.Join(parts, ", ") + remaining(s.Left)
}

// remaining is a guess: no more than two digits are worth showing.
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

// done leaves the cursor on a fresh line.
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
