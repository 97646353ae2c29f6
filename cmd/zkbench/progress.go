package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"zkbench/scenarios"
)

// progress tells how far a run is: one line, repainted, on a terminal; plain lines,
// one a phase, elsewhere.
type progress struct {
	w     io.Writer
	quiet bool
	tty   bool
	width int
	start time.Time

	mu      sync.Mutex
	painted bool   // the cursor stands behind a status line
	phase   string // what the last plain lines were about
	fault   string
}

func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{w: w, quiet: quiet, start: time.Now(), width: 80}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.tty = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			p.width = width
		}
	}
	return p
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
	head := fmt.Sprintf("trial %d of %d: %s, %d clients: %s", s.Trial, s.Trials, s.Subject, s.Clients, s.Phase)
	if !p.tty {
		if head != p.phase && s.Phase != "" {
			p.phase = head
			fmt.Fprintf(p.w, "%6.1fs  %s\n", time.Since(p.start).Seconds(), head)
		}
		if s.Fault != p.fault && s.Fault != "" {
			fmt.Fprintf(p.w, "%6.1fs  fault: %s\n", time.Since(p.start).Seconds(), s.Fault)
		}
		p.fault = s.Fault
		return
	}
	line := fmt.Sprintf("%s %s, %d grants", head, s.Detail, s.Grants)
	if s.Fault != "" {
		line += ", fault: " + s.Fault
	}
	if r := []rune(line); len(r) >= p.width {
		line = string(r[:p.width-1])
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	p.painted = true
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
