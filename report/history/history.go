package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/safefile"
)

// History contains the records of a trial, which are streamed, and data that a verdict needs before the
// first record, such as the faults: a fault is recorded only when it is over.
type History struct {
	Header     Header
	Faults     []Fault // in order of their start
	Phases     []Phase
	Lost       []*LostReply  // requests whose reply never came
	Timeout    time.Duration // the longest negotiated session timeout; 0 if no timeout is recorded
	HasCommits bool          // the records include the servers' commits
	// Records yields all records in order, each commit before the first record of a client that may
	// know of it. It can be ranged over repeatedly. It stops after the first error.
	Records iter.Seq2[Numbered, error]
	path    string
}

type Fault struct {
	N int
	*Window
}

type Phase struct {
	Name       string
	Index      int
	Kind       string
	Pace       Pace
	Start, End time.Duration // End is 0 if the end is not recorded
	Stopped    time.Duration // when its clients were stopped; 0 if they were not
	Arrivals   *Arrivals     // of an open loop
	Contenders int           // as PhaseStart.Contenders
}

// Ramp reports whether operations were due at an increasing rate, so that a single rate or latency for
// the whole phase is meaningless.
func (p *Phase) Ramp() bool { return p.Arrivals.Ramp() }

// ActiveUntil returns the time when the phase was over for its clients: the time when they were stopped, or
// else the end of the phase; 0 if neither is recorded.
func (p *Phase) ActiveUntil() time.Duration { return cmp.Or(p.Stopped, p.End) }

// Open reads the history file at path, and keeps all records except the samples in memory. Each iteration
// over Records decodes the samples. Open returns no error for a truncated or damaged history: then Records
// yields the error.
func Open(path string) (*History, error) {
	r, f, err := openReader(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	defer r.Close()
	h := &History{Header: r.Header, path: path}
	var known []Numbered
	r.skipSamples = true
	for n, err := range r.Records() {
		if err != nil {
			break // each iteration yields it
		}
		h.collect(n)
		known = append(known, n)
	}
	h.sort()
	commits, err := commitsOf(path)
	if err != nil {
		return nil, err
	}
	h.HasCommits, h.Records = commits != nil, withCommits(file(path, known), commits)
	return h, nil
}

// Forget frees the records in memory. From then on, each iteration over Records opens the file again.
func (h *History) Forget() {
	path := h.path
	h.Records = func(yield func(Numbered, error) bool) {
		again, err := Open(path)
		if err != nil {
			yield(Numbered{}, err)
			return
		}
		again.Records(yield)
	}
}

func sequenceOf(records []Numbered) iter.Seq2[Numbered, error] {
	return func(yield func(Numbered, error) bool) {
		for _, n := range records {
			if !yield(n, nil) {
				return
			}
		}
	}
}

func ReadHeader(path string) (Header, error) {
	r, f, err := openReader(path)
	if err != nil {
		return Header{}, err
	}
	r.Close()
	return r.Header, f.Close()
}

// Of returns a history of the given records. Commits may be at any position, but must be sorted by zxid.
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
	h.Records = sequenceOf(kept)
	if h.HasCommits = len(commits) > 0; h.HasCommits {
		h.Records = withCommits(h.Records, sequenceOf(commits))
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

// openFile opens a file of a run folder, which is the parent of the file's folder. It does not follow
// links out of the run folder, which another user may control.
func openFile(path string) (*os.File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	return safefile.OpenBelow(filepath.Dir(folder), filepath.Join(filepath.Base(folder), filepath.Base(path)))
}

// file yields the records of the file at path, which each iteration opens again, except those in known.
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

// Phase returns the first phase with that name, or nil. The result points into h.Phases.
func (h *History) Phase(name string) *Phase {
	for i := range h.Phases {
		if h.Phases[i].Name == name {
			return &h.Phases[i]
		}
	}
	return nil
}

const (
	CommitOpen   = "open"
	CommitClose  = "close" // closed by its client, or expired: then Cxid is 0
	CommitCreate = "create"
	CommitDelete = "delete" // by a request; the nodes of a closed session are in Removed
	CommitSet    = "set"
	CommitError  = "error" // a rejected request, which is also logged
)

// Commit is an operation that the servers committed, read from their transaction logs. A history has
// only commits that concern the trial's subtree or its sessions. A transaction of several operations
// has one commit per operation, all with the same zxid.
type Commit struct {
	Zxid      int64    `json:"zxid"`
	Session   int64    `json:"session"`
	Cxid      int32    `json:"cxid,omitempty"` // the number that the client gave its request; 0: made by a server
	Op        string   `json:"op"`
	Path      string   `json:"path,omitempty"`
	Ephemeral bool     `json:"ephemeral,omitempty"`
	Item      string   `json:"item,omitempty"`    // create: ID of the queue item in the node
	Version   int32    `json:"version,omitempty"` // set: version after the operation
	Removed   []string `json:"removed,omitempty"` // close: the session's nodes, which were removed
	Code      int32    `json:"code,omitempty"`    // error: ZooKeeper's error code
}

func (c *Commit) RemovedPaths() []string {
	switch c.Op {
	case CommitDelete:
		return []string{c.Path}
	case CommitClose:
		return c.Removed
	}
	return nil
}

// Time returns 0: a commit has a position in the servers' order, but no time on the trial's clock.
func (c *Commit) Time() time.Duration { return 0 }

// CommitsEnd follows the last commit. It records whether the commits are complete.
type CommitsEnd struct {
	After   int64     `json:"after"` // the commits begin after this zxid
	Last    int64     `json:"last"`  // zxid of the last transaction read
	Read    int       `json:"read"`  // number of transactions read, of all sessions
	Gaps    []ZxidGap `json:"gaps,omitempty"`
	Unknown int       `json:"unknown,omitempty"` // number of transactions of unknown types
	Err     string    `json:"err,omitempty"`     // why reading ended early
}

// ZxidGap is a range of zxids, From to To, that no member's log contains.
type ZxidGap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

func (c *CommitsEnd) Time() time.Duration { return 0 }

// CommitsPath returns the path of the commits of the history at path, in a folder next to the histories'.
func CommitsPath(path string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(path)), "commits", filepath.Base(path))
}

// withCommits yields the records of a history and its commits, each commit before the first record of
// a client that may know of it: a sample whose reply had zxid z comes after every commit up to z.
// Commits have no number. commits may be nil.
func withCommits(records, commits iter.Seq2[Numbered, error]) iter.Seq2[Numbered, error] {
	if commits == nil {
		return records
	}
	return func(yield func(Numbered, error) bool) {
		next, stop := iter.Pull2(commits)
		defer stop()
		first, last, more := next()
		// upTo yields the commits up to zxid. It returns false if the consumer stops the iteration.
		upTo := func(zxid int64) bool {
			for more && last == nil && zxidOf(first.Record) <= zxid {
				if !yield(Numbered{Record: first.Record}, nil) {
					return false
				}
				first, last, more = next()
			}
			return true
		}
		for n, err := range records {
			if err != nil {
				yield(n, err)
				return
			}
			if s, ok := n.Record.(*Sample); ok && !upTo(s.Zxid) {
				return
			}
			if !yield(n, nil) {
				return
			}
		}
		if upTo(1<<63-1) && last != nil {
			yield(Numbered{}, errors.Join(errCommits, last))
		}
	}
}

var errCommits = errors.New("the commits cannot be read")

// zxidOf returns the zxid of a commit, and the highest zxid for other records.
func zxidOf(r Record) int64 {
	if c, ok := r.(*Commit); ok {
		return c.Zxid
	}
	return 1<<63 - 1
}

func commitsOf(path string) (iter.Seq2[Numbered, error], error) {
	r, f, err := openReader(CommitsPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.Close()
	return file(CommitsPath(path), nil), f.Close()
}
