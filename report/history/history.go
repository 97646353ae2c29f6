package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// History is a trial's record, ready to be evaluated. Records are streamed; data that a verdict needs
// from the start (a fault is recorded only once it is over) is collected beforehand.
type History struct {
	Header  Header
	Faults  []Fault // in order of their start
	Phases  []Phase
	Lost    []*LostReply  // requests whose reply never came
	Timeout time.Duration // the longest negotiated session timeout; 0 if none is recorded
	Commits bool          // the records include the servers' commits
	// Records yields all records in order, each commit before the first record of a client that may
	// know of it. It can be ranged over again. An error is the last thing that it yields.
	Records iter.Seq2[Numbered, error]
	Kept    int // decoded records in memory
	path    string
}

// Fault is a window and the number of its record.
type Fault struct {
	N int
	*Window
}

// Phase is a part of the trial.
type Phase struct {
	Name       string
	Index      int
	Kind       string
	Pace       Pace
	Start, End time.Duration // End is 0 if it is not recorded
	Stopped    time.Duration // when its clients were stopped; 0 if they were not
	Arrivals   *Arrivals     // of an open loop
	Contenders int           // as PhaseStart.Contenders
}

// Ramp reports whether operations were due at an increasing rate: one rate or latency for the whole
// phase is meaningless.
func (p *Phase) Ramp() bool { return p.Arrivals.Ramp() }

// Over returns when the phase was over for its clients: when they were stopped, or else at its
// end; 0 if neither is recorded.
func (p *Phase) Over() time.Duration { return cmp.Or(p.Stopped, p.End) }

// inMemory is the number of decoded records of a file that are kept: some 50 MB. Of a longer history samples
// are not kept, and decoded again each time that it is ranged over.
const inMemory = 200_000

// Open reads the history file at path. It accepts a truncated or damaged history: Records yields
// the error.
func Open(path string) (*History, error) {
	r, f, err := openReader(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	defer r.Close()
	h := &History{Header: r.Header}
	var kept []Numbered
	var last error
	for n, err := range r.Records() {
		if err != nil {
			last = err
			break
		}
		h.collect(n)
		kept = append(kept, n)
		if n.N == inMemory {
			r.skipSamples = true
			kept = slices.DeleteFunc(kept, func(n Numbered) bool { _, is := n.Record.(*Sample); return is })
		}
	}
	h.sort()
	if r.skipSamples {
		h.Records = file(path, kept)
	} else {
		h.Records = all(kept, last)
	}
	commits, err := commitsOf(path)
	if err != nil {
		return nil, err
	}
	h.Commits, h.Records = commits != nil, withCommits(h.Records, commits)
	h.Kept, h.path = len(kept), path
	return h, nil
}

// Forget frees the records in memory: the file is decoded again each time that they are ranged over.
func (h *History) Forget() {
	path := h.path
	h.Kept, h.Records = 0, func(yield func(Numbered, error) bool) {
		again, err := Open(path)
		if err != nil {
			yield(Numbered{}, err)
			return
		}
		again.Records(yield)
	}
}

// all yields records in memory, and then the error of reading.
func all(kept []Numbered, last error) iter.Seq2[Numbered, error] {
	return func(yield func(Numbered, error) bool) {
		for _, n := range kept {
			if !yield(n, nil) {
				return
			}
		}
		if last != nil {
			yield(Numbered{N: len(kept)}, last)
		}
	}
}

// ReadHeader reads only the header of the history file at path.
func ReadHeader(path string) (Header, error) {
	r, f, err := openReader(path)
	if err != nil {
		return Header{}, err
	}
	r.Close()
	return r.Header, f.Close()
}

// Of makes a history of records in memory; commits may be anywhere among them, in their own order.
func Of(header Header, records ...Record) *History {
	h := &History{Header: header}
	var kept, commits []Numbered
	for _, r := range records {
		switch r.(type) {
		case *Commit, *CommitsEnd:
			commits = append(commits, Numbered{Record: r})
		default:
			kept = append(kept, Numbered{N: len(kept) + 1, Record: r})
			h.collect(kept[len(kept)-1])
		}
	}
	h.sort()
	h.Records = all(kept, nil)
	if h.Commits = len(commits) > 0; h.Commits {
		h.Records = withCommits(h.Records, all(commits, nil))
	}
	return h
}

func openReader(path string) (*Reader, io.Closer, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open history: %w", err)
	}
	r, err := NewReader(f)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return r, f, nil
}

// openFile opens a regular file of a run folder, the parent of the file's folder. It follows no
// links that lead out of the run folder, which may be another user's.
func openFile(path string) (*os.File, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(whole)
	root, err := os.OpenRoot(filepath.Dir(folder))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := filepath.Join(filepath.Base(folder), filepath.Base(whole))
	if info, err := root.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file (%v)", path, info.Mode().Type())
	}
	return root.Open(name)
}

// file opens the file each time that it is ranged over; known are the records that need not be
// decoded again.
func file(path string, known []Numbered) iter.Seq2[Numbered, error] {
	return func(yield func(Numbered, error) bool) {
		r, f, err := openReader(path)
		if err != nil {
			yield(Numbered{}, err)
			return
		}
		defer f.Close()
		defer r.Close()
		r.known = known
		r.Records()(yield)
	}
}

// collect collects the data for a verdict from the start.
func (h *History) collect(n Numbered) {
	switch r := n.Record.(type) {
	case *Window:
		h.Faults = append(h.Faults, Fault{N: n.N, Window: r})
	case *LostReply:
		h.Lost = append(h.Lost, r)
	case *Session:
		if r.Event == Opened {
			h.Timeout = max(h.Timeout, r.Timeout)
		}
	case *PhaseStart:
		h.Phases = append(h.Phases, Phase{Name: r.Name, Index: r.Index, Kind: r.Kind, Pace: r.Pace, Contenders: r.Contenders, Start: r.At})
	case *Arrivals:
		if p := h.Phase(r.Phase); p != nil {
			p.Arrivals = r
		}
	case *PhaseEnd:
		for i := range slices.Backward(h.Phases) {
			if p := &h.Phases[i]; p.Index == r.Index && p.End == 0 {
				p.End, p.Stopped = r.At, r.Stopped
				return
			}
		}
	}
}

func (h *History) sort() {
	slices.SortStableFunc(h.Faults, func(a, b Fault) int { return cmp.Compare(a.Start, b.Start) })
	slices.SortStableFunc(h.Phases, func(a, b Phase) int { return cmp.Compare(a.Start, b.Start) })
}

func (h *History) Phase(name string) *Phase {
	for i := range h.Phases {
		if h.Phases[i].Name == name {
			return &h.Phases[i]
		}
	}
	return nil
}
