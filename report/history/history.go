package history

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"
)

// History is a trial's record, ready to be judged. What a judge must know from
// the start (a fault is recorded only once it is over) was gathered beforehand;
// the records themselves are streamed.
type History struct {
	Header  Header
	Faults  []Fault       // in order of their start
	Phases  []Phase       // in order of their start
	Timeout time.Duration // the longest negotiated session timeout; 0 where none was noted
	// Records yields all records in order. It can be ranged over again. An error
	// is the last thing that it yields.
	Records iter.Seq2[Numbered, error]
}

// Fault is a window and the number of its record.
type Fault struct {
	N int
	Window
}

// Phase is a part of the trial. End is 0 where it was not noted.
type Phase struct {
	Name       string
	Start, End time.Duration
	Counted    bool // its hand-offs were counted on the wire: it is a drain
	Flaps      bool // what was counted is what a waiter causes that is gone for a moment: there are no hand-offs
	Struck     bool // its holders were struck on purpose, one a round: it is a failover
	Drill      bool // clients were made to leave in a given order: every change of leader is looked at
}

// Open looks through the history file at path. A history that is cut short, or
// damaged further on, opens: Records yields the error in its place.
func Open(path string) (*History, error) {
	header, err := ReadHeader(path)
	if err != nil {
		return nil, err
	}
	h := &History{Header: header, Records: file(path, nil)}
	h.gather(file(path, foreknown))
	return h, nil
}

// ReadHeader reads no more than the first line of the history file at path.
func ReadHeader(path string) (Header, error) {
	r, f, err := openReader(path)
	if err != nil {
		return Header{}, err
	}
	r.Close()
	return r.Header, f.Close()
}

// Of makes a history of records in memory.
func Of(header Header, records ...Record) *History {
	h := &History{Header: header, Records: func(yield func(Numbered, error) bool) {
		for i, r := range records {
			if !yield(Numbered{N: i + 1, Record: r}, nil) {
				return
			}
		}
	}}
	h.gather(h.Records)
	return h
}

func openReader(path string) (*Reader, io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open history: %w", err)
	}
	r, err := NewReader(f)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return r, f, nil
}

// file opens the file anew each time that it is ranged over.
func file(path string, keep func(raw []byte) bool) iter.Seq2[Numbered, error] {
	return func(yield func(Numbered, error) bool) {
		r, f, err := openReader(path)
		if err != nil {
			yield(Numbered{}, err)
			return
		}
		defer f.Close()
		defer r.Close()
		r.records(keep)(yield)
	}
}

var (
	samplePrefix = []byte(`{"sample":`)
	notePrefix   = []byte(`{"note":`)
	openedKind   = []byte(`"kind":"` + Opened + `"`)
	fanKind      = []byte(`"kind":"` + Fan + `"`)
	phaseKind    = []byte(`"kind":"phase.`)
	leavingKind  = []byte(`"kind":"` + Leaving + `"`)
	failoverKind = []byte(`"kind":"` + Failover + `"`)
)

// foreknown keeps the few lines that gather wants; the many are not decoded.
func foreknown(raw []byte) bool {
	switch {
	case bytes.HasPrefix(raw, samplePrefix):
		return false
	case bytes.HasPrefix(raw, notePrefix):
		return bytes.Contains(raw, openedKind) || bytes.Contains(raw, phaseKind) ||
			bytes.Contains(raw, fanKind) || bytes.Contains(raw, leavingKind) || bytes.Contains(raw, failoverKind)
	}
	return true
}

// gather collects what is needed beforehand. Damage is left to Records to report.
func (h *History) gather(records iter.Seq2[Numbered, error]) {
	for n, err := range records {
		if err != nil {
			break
		}
		switch {
		case n.Window != nil:
			h.Faults = append(h.Faults, Fault{N: n.N, Window: *n.Window})
		case n.Note != nil:
			h.gatherNote(n.Note)
		}
	}
	slices.SortStableFunc(h.Faults, func(a, b Fault) int { return cmp.Compare(a.Start, b.Start) })
	slices.SortStableFunc(h.Phases, func(a, b Phase) int { return cmp.Compare(a.Start, b.Start) })
}

func (h *History) gatherNote(n *Note) {
	name := n.Text
	if name == "" {
		name = n.Phase
	}
	switch n.Kind {
	case Opened:
		h.Timeout = max(h.Timeout, n.Timeout)
	case PhaseStart:
		h.Phases = append(h.Phases, Phase{Name: strings.Clone(name), Start: n.At})
	case Fan:
		for i := range h.Phases {
			p := &h.Phases[i]
			flaps := n.Counts["flaps"] > 0
			p.Flaps = p.Flaps || flaps && p.Name == n.Phase
			p.Counted = p.Counted || !flaps && p.Name == n.Phase
		}
	case Leaving:
		for i := range h.Phases {
			h.Phases[i].Drill = h.Phases[i].Drill || h.Phases[i].Name == n.Phase
		}
	case Failover:
		for i := range h.Phases {
			h.Phases[i].Struck = h.Phases[i].Struck || h.Phases[i].Name == n.Phase
		}
	case PhaseEnd:
		for i := range slices.Backward(h.Phases) {
			if h.Phases[i].Name == name && h.Phases[i].End == 0 {
				h.Phases[i].End = n.At
				break
			}
		}
	}
}
