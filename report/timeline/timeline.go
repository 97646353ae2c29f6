// Package timeline writes a trial in the Trace Event Format, for ui.perfetto.dev and
// chrome://tracing: clients as tracks, their calls and grants as slices, faults as slices, and
// hand-offs as arrows from the grant that ended to the next.
//
//	h, err := history.Open(report.HistoryPath(dir, trial))
//	err = timeline.Write(os.Stdout, h)
package timeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// Event is an event of the format. Times are in microseconds from the start of the trial.
type Event struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	Time  float64        `json:"ts"`
	Dur   *float64       `json:"dur,omitempty"` // of a complete event, "X"
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	ID    string         `json:"id,omitempty"` // connects the ends of a fault, or of an arrow
	Bind  string         `json:"bp,omitempty"`
	Scope string         `json:"s,omitempty"` // of an instant, "i"
	Args  map[string]any `json:"args,omitempty"`
}

// The processes, from the top of the page.
const (
	phasesPID = iota + 1
	faultsPID
	clientsPID
)

// Each client has two tracks: its beliefs and its calls.
func grantsTID(client int) int { return 2*client + 1 }
func callsTID(client int) int  { return 2*client + 2 }

// Write writes the trial. If the history cannot be read to its end, it writes the readable part and
// returns an error.
func Write(w io.Writer, h *history.History) error {
	out := bufio.NewWriter(w)
	e := &encoder{w: out, named: map[int]bool{}}
	fmt.Fprint(out, `{"displayTimeUnit":"ms","traceEvents":[`)
	e.process(phasesPID, "phases")
	e.process(faultsPID, "faults")
	e.process(clientsPID, fmt.Sprintf("%s, %d clients", h.Header.Subject, h.Header.Clients))
	f := report.Fold(h)
	for n, err := range h.Records {
		if err != nil {
			break // Fold has met it, too
		}
		switch r := n.Record.(type) {
		case *history.Sample:
			e.call(r)
		case *history.Session:
			e.client(r.Client)
			e.put(Event{Name: "session " + string(r.Event), Cat: "session", Phase: "i", Scope: "t", Time: micros(r.At), PID: clientsPID, TID: callsTID(r.Client),
				Args: map[string]any{"session": fmt.Sprintf("%#x", r.Session)}})
		}
	}
	for _, p := range h.Phases {
		end := p.Over()
		if end == 0 {
			end = f.Trace.Length // the history ends in it
		}
		e.slice(Event{Name: p.Name, Cat: "phase", Time: micros(p.Start), PID: phasesPID}, p.Start, end)
	}
	for i, x := range f.Trace.Faults {
		id := fmt.Sprint("fault-", i)
		args := map[string]any{"target": x.Target, "proof": x.Proof}
		if x.Proof == "" {
			args["no proof"] = x.Err
		}
		e.put(Event{Name: x.Fault, Cat: "fault", Phase: "b", ID: id, Time: micros(x.Start), PID: faultsPID, Args: args})
		e.put(Event{Name: x.Fault, Cat: "fault", Phase: "e", ID: id, Time: micros(x.End), PID: faultsPID})
	}
	e.holds(f.Trace.Holds)
	other, err := json.Marshal(map[string]any{"trial": h.Header.Trial, "scenario": h.Header.Scenario, "seed": fmt.Sprint(h.Header.Seed), "partial": f.Trace.Partial})
	if e.err == nil {
		e.err = err
	}
	fmt.Fprintf(out, "\n],\"otherData\":%s}\n", other)
	if e.err == nil {
		e.err = f.Err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return e.err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

type encoder struct {
	w     io.Writer
	begun bool
	named map[int]bool // clients whose tracks have names
	err   error
}

func (e *encoder) put(x Event) {
	text, err := json.Marshal(x)
	if err != nil && e.err == nil {
		e.err = err
		return
	}
	separator := "\n"
	if e.begun {
		separator = ",\n"
	}
	e.begun = true
	fmt.Fprintf(e.w, "%s%s", separator, text)
}

func (e *encoder) slice(x Event, start, end time.Duration) {
	dur := micros(max(end-start, 0))
	x.Phase, x.Dur = "X", &dur
	e.put(x)
}

func (e *encoder) process(pid int, name string) {
	e.put(Event{Name: "process_name", Phase: "M", PID: pid, Args: map[string]any{"name": name}})
	e.put(Event{Name: "process_sort_index", Phase: "M", PID: pid, Args: map[string]any{"sort_index": pid}})
}

func (e *encoder) client(n int) {
	if e.named[n] {
		return
	}
	e.named[n] = true
	for tid, name := range map[int]string{grantsTID(n): "holds", callsTID(n): "calls"} {
		e.put(Event{Name: "thread_name", Phase: "M", PID: clientsPID, TID: tid, Args: map[string]any{"name": fmt.Sprintf("client %d %s", n, name)}})
		e.put(Event{Name: "thread_sort_index", Phase: "M", PID: clientsPID, TID: tid, Args: map[string]any{"sort_index": tid}})
	}
}

func (e *encoder) call(s *history.Sample) {
	e.client(s.Client)
	args := map[string]any{"outcome": s.Outcome, "phase": s.Phase}
	for key, value := range map[string]string{"item": s.Item, "node": s.Path, "error": s.Err} {
		if value != "" {
			args[key] = value
		}
	}
	if s.Token != 0 {
		args["token"] = fmt.Sprint(s.Token) // too large for a number in JavaScript
	}
	e.slice(Event{Name: s.Op, Cat: "call", Time: micros(s.Call), PID: clientsPID, TID: callsTID(s.Client), Args: args}, s.Call, s.Return)
}

// holds writes the grants, in the order of their start, and an arrow from each to the next.
func (e *encoder) holds(all []report.Hold) {
	for i, h := range all {
		e.client(h.Client)
		e.slice(Event{Name: "holds", Cat: "grant", Time: micros(h.Start), PID: clientsPID, TID: grantsTID(h.Client)}, h.Start, h.End)
		if i == 0 || all[i-1].End > h.Start {
			continue // overlapping grants have no hand-off
		}
		was, id := all[i-1], fmt.Sprint("hand-off-", i)
		// An arrow begins inside of a slice.
		from := max(was.Start, was.End-time.Microsecond)
		e.put(Event{Name: "hand-off", Cat: "hand-off", Phase: "s", ID: id, Time: micros(from), PID: clientsPID, TID: grantsTID(was.Client)})
		e.put(Event{Name: "hand-off", Cat: "hand-off", Phase: "f", Bind: "e", ID: id, Time: micros(h.Start), PID: clientsPID, TID: grantsTID(h.Client)})
	}
}
